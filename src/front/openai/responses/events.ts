import type { ChunkPart, ToolCallPart } from '../../../domain/chunkParts.ts';
import type { JobRecord, JobResult, ToolCall } from '../../../domain/job.ts';
import { isTerminal, statusOf } from '../../../domain/states.ts';
import type { Fields } from '../../../lib/fields.ts';
import { isShort, jsonPieces } from '../../../lib/jsonPieces.ts';
import { errorAnswer, type OpenAiError } from '../errors.ts';
import { type StreamPresenter, spoiledCode } from '../jobStream.ts';
import {
  hasMessage,
  isBackground,
  itemStatusOf,
  type OutputItem,
  OutputItems,
  responseOf,
  responseStatus,
  summaryPart,
  textPart,
} from './response.ts';

/** Characters of reasoning, and of arguments of tools, that one stream keeps for its last events; more reasoning is not sent. */
const keptMax = 256 * 1024;

/** An item that has begun. Its place in the list is its `output_index`. */
type Begun =
  | { type: 'message' }
  | { type: 'reasoning'; index: number; text: string; isDone: boolean }
  | { type: 'call'; index: number; id: string; name: string; text: string };

/**
 * A job as the events of a response. They follow from the parts in their order and from the end of the job alone, so they and
 * their numbers are the same for everyone who reads them, at any time.
 */
export class ResponseEvents implements StreamPresenter {
  readonly #items: OutputItems;
  readonly #after: number;
  readonly #output: Begun[] = [];
  /** Where the message is in it; -1 before there is one. */
  #placeOfMessage = -1;
  /** Where the calls are in it, by their index. */
  readonly #placesOfCalls = new Map<number, number>();
  #reasonings = 0;
  #next = 0;
  #kept = 0;
  #hasStarted = false;

  /** @param after events up to this number are left out. */
  constructor(job: JobRecord, after = -1) {
    this.#items = new OutputItems(job);
    this.#after = after;
  }

  /** In the background it has been queued, even if it runs by the time it is read. */
  *begin(job: JobRecord): Generator<string> {
    const isQueued = isBackground(job) || responseStatus(job) === 'queued';
    const response = responseOf(job, { status: isQueued ? 'queued' : 'in_progress', output: [] });
    yield* this.#event('response.created', { response });
    if (isQueued) yield* this.#event('response.queued', { response });
    yield* this.changed(job);
  }

  *changed(job: JobRecord): Generator<string> {
    if (job.life.attempts.length > 0) yield* this.#start(job);
  }

  *part(part: ChunkPart, job: JobRecord): Generator<string> {
    yield* this.#start(job);
    if (part.type === 'reasoning') {
      yield* this.#reasoning(part.text);
      return;
    }
    yield* this.#endReasoning();
    if (part.type === 'text') yield* this.#text(part.text);
    else yield* this.#call(part);
  }

  *end(job: JobRecord): Generator<string> {
    const { result } = job.life;
    if (result === null) return;
    yield* this.#start(job);
    yield* this.#endReasoning();
    const hasOther = this.#output.some(({ type }) => type !== 'reasoning');
    if (!hasOther && hasMessage(result)) yield* this.#beginMessage();
    const output: OutputItem[] = [];
    for (const [place, begun] of this.#output.entries()) {
      const item = this.#whole(begun, result);
      if (begun.type === 'message') yield* this.#endMessage(place, result.output);
      if (begun.type === 'call') yield* this.#endCall(place, item);
      if (begun.type !== 'reasoning') yield* this.#itemEvent('response.output_item.done', place, item);
      output.push(item);
    }
    const status = responseStatus(job);
    yield* this.#event(`response.${status}`, { response: responseOf(job, { status, output }) });
  }

  /** A job that has failed is the end of a response; all else is trouble of the stream. */
  *broken(error: OpenAiError, job: JobRecord): Generator<string> {
    yield* this.changed(job);
    if (statusOf(job.state) === 'failed') {
      yield* this.#event('response.failed', { response: responseOf(job) });
      return;
    }
    const told = errorAnswer(error).json.error;
    const { code, message, param } = told;
    // Trouble of this stream alone takes no number: who resumes after it must not miss the event that has it.
    const isOfResponse = isTerminal(job.state) || code === spoiledCode;
    const number = isOfResponse ? this.#next : Math.max(0, this.#next - 1);
    // Also to a client that resumes after it: it must not take the end of the stream for the end of the response.
    yield eventText('error', { sequence_number: number, code, message, param, error: told });
  }

  *#start(job: JobRecord): Generator<string> {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    const response = responseOf(job, { status: 'in_progress', output: [] });
    yield* this.#event('response.in_progress', { response });
  }

  *#text(delta: string): Generator<string> {
    if (this.#placeOfMessage < 0) yield* this.#beginMessage();
    const at = this.#textAt(this.#placeOfMessage);
    yield* this.#event('response.output_text.delta', { ...at, delta, logprobs: [] });
  }

  *#beginMessage(): Generator<string> {
    const place = this.#output.push({ type: 'message' }) - 1;
    this.#placeOfMessage = place;
    const item = this.#items.message(null, 'in_progress');
    yield* this.#itemEvent('response.output_item.added', place, item);
    yield* this.#event('response.content_part.added', { ...this.#textAt(place), part: textPart('') });
  }

  *#endMessage(place: number, text: string): Generator<string> {
    const at = this.#textAt(place);
    yield* this.#event('response.output_text.done', { ...at, text, logprobs: [] });
    yield* this.#event('response.content_part.done', { ...at, part: textPart(text) });
  }

  *#call({ index, id, name, arguments: delta }: ToolCallPart): Generator<string> {
    if (id !== undefined) {
      const begun = { type: 'call' as const, index, id, name: name ?? '', text: '' };
      const place = this.#output.push(begun) - 1;
      this.#placesOfCalls.set(index, place);
      const item = this.#items.call(index, callOf(begun), 'in_progress');
      yield* this.#itemEvent('response.output_item.added', place, item);
    }
    const place = this.#placesOfCalls.get(index) ?? -1;
    const call = this.#output[place];
    if (call?.type !== 'call' || delta === '') return;
    if (this.#keeps(delta)) call.text += delta;
    const at = { item_id: this.#items.callId(index), output_index: place };
    yield* this.#event('response.function_call_arguments.delta', { ...at, delta });
  }

  *#endCall(place: number, { id, name, arguments: whole }: OutputItem): Generator<string> {
    const fields = { item_id: id, output_index: place, name, arguments: whole };
    yield* this.#event('response.function_call_arguments.done', fields);
  }

  *#reasoning(delta: string): Generator<string> {
    if (!this.#keeps(delta)) return;
    let begun = this.#output.at(-1);
    if (begun?.type !== 'reasoning' || begun.isDone) {
      const index = this.#reasonings;
      this.#reasonings += 1;
      begun = { type: 'reasoning', index, text: '', isDone: false };
      const place = this.#output.push(begun) - 1;
      const item = this.#items.reasoning(index, null, 'in_progress');
      yield* this.#itemEvent('response.output_item.added', place, item);
      const at = this.#summaryAt(place, index);
      yield* this.#event('response.reasoning_summary_part.added', { ...at, part: summaryPart('') });
    }
    begun.text += delta;
    const at = this.#summaryAt(this.#output.length - 1, begun.index);
    yield* this.#event('response.reasoning_summary_text.delta', { ...at, delta });
  }

  /** It ends where something else begins. */
  *#endReasoning(): Generator<string> {
    const place = this.#output.length - 1;
    const begun = this.#output[place];
    if (begun?.type !== 'reasoning' || begun.isDone) return;
    begun.isDone = true;
    const { index, text } = begun;
    const at = this.#summaryAt(place, index);
    yield* this.#event('response.reasoning_summary_text.done', { ...at, text });
    yield* this.#event('response.reasoning_summary_part.done', { ...at, part: summaryPart(text) });
    const item = this.#items.reasoning(index, text, 'completed');
    yield* this.#itemEvent('response.output_item.done', place, item);
  }

  /** An item as the result has it. A call that the model could not finish is not in the result. */
  #whole(begun: Begun, result: JobResult): OutputItem {
    if (begun.type === 'message') return this.#items.message(result.output, itemStatusOf(result));
    if (begun.type === 'reasoning') return this.#items.reasoning(begun.index, begun.text, 'completed');
    const call = result.toolCalls?.find(({ id }) => id === begun.id);
    return call === undefined
      ? this.#items.call(begun.index, callOf(begun), 'incomplete')
      : this.#items.call(begun.index, call, 'completed');
  }

  #textAt(place: number) {
    return { item_id: this.#items.messageId, output_index: place, content_index: 0 };
  }

  #summaryAt(place: number, index: number) {
    return { item_id: this.#items.reasoningId(index), output_index: place, summary_index: 0 };
  }

  #keeps({ length }: string): boolean {
    if (this.#kept + length > keptMax) return false;
    this.#kept += length;
    return true;
  }

  #itemEvent(type: string, place: number, item: OutputItem): Generator<string> {
    return this.#event(type, { output_index: place, item });
  }

  *#event(type: string, fields: Fields): Generator<string> {
    const number = this.#next;
    this.#next += 1;
    if (number <= this.#after) return;
    const numbered = { sequence_number: number, ...fields };
    if (isShort(numbered)) {
      yield eventText(type, numbered);
      return;
    }
    yield `event: ${type}\ndata: `;
    yield* jsonPieces({ type, ...numbered });
    yield '\n\n';
  }
}

function eventText(type: string, fields: Fields): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function callOf({ id, name, text }: { id: string; name: string; text: string }): ToolCall {
  return { id, type: 'function', function: { name, arguments: text } };
}
