import type { ChunkPart, ToolCallPart } from '../../domain/chunkParts.ts';
import type { JobRecord, JobResult } from '../../domain/job.ts';

/** Characters of a text that are sent at once when it was not streamed. */
const pieceLength = 64 * 1024;

/** A tool call that has begun. */
interface BegunCall {
  index: number;
  id: string;
  /** Characters of its arguments that were sent. */
  length: number;
}

/** What of one answer was sent. Only the first piece of a tool call has its id and name. */
export class Sent {
  /** Characters of the output that were sent. */
  #text = 0;
  /** The end of them, to compare with the result. */
  #tail = '';
  /** Characters of the reasoning that were sent. */
  #reasoning = 0;
  /** By index. */
  readonly #calls = new Map<number, BegunCall>();
  #hasAny = false;

  /** Whether anything was sent that a second attempt could not take back. */
  get hasAny(): boolean {
    return this.#hasAny;
  }

  /** Count a part that comes next. @returns it as it is to be sent; null when it is empty. */
  next(part: ChunkPart): ChunkPart | null {
    if (part.type === 'tool_call') return this.#nextOfCall(part);
    const { text } = part;
    if (text === '') return null;
    this.#hasAny = true;
    if (part.type === 'reasoning') {
      this.#reasoning += text.length;
    } else {
      this.#text += text.length;
      this.#tail = text;
    }
    return part;
  }

  /** What was not sent yet of all that an attempt has generated so far. */
  *unsent(all: readonly ChunkPart[]): Generator<ChunkPart> {
    const seen = { text: -this.#text, reasoning: -this.#reasoning };
    const sentOf = new Map([...this.#calls].map(([index, { length }]) => [index, length]));
    for (const part of all) {
      if (part.type === 'tool_call') {
        const sent = sentOf.get(part.index);
        if (sent === undefined) yield part;
        else yield { ...part, arguments: part.arguments.slice(sent) };
        sentOf.set(part.index, Math.max(0, (sent ?? 0) - part.arguments.length));
        continue;
      }
      const skipped = Math.max(0, -seen[part.type]);
      seen[part.type] += part.text.length;
      yield { type: part.type, text: part.text.slice(skipped) };
    }
  }

  /**
   * What of the result of a job was not sent yet, counted as it is taken; null when the result does not go on from what was
   * sent, because another attempt has made it.
   * @param lease of the attempt that was sent; null for none.
   */
  rest({ life: { result, attempts } }: JobRecord, lease: number | null): Generator<ChunkPart> | null {
    if (result === null) return null;
    const winner = attempts.find(({ outcome }) => outcome === 'completed');
    const isOther = winner !== undefined && lease !== null && winner.lease !== lease;
    if (this.#hasAny && (isOther || !this.#isStartOf(result))) return null;
    return this.#rest(result);
  }

  #isStartOf({ output }: JobResult): boolean {
    return output.slice(0, this.#text).endsWith(this.#tail) && output.length >= this.#text;
  }

  /**
   * Text in pieces, then the tool calls. Calls are identified by their ids: one that had begun and is not whole is not in the
   * result.
   */
  *#rest({ output, toolCalls = [] }: JobResult): Generator<ChunkPart> {
    for (let from = this.#text; from < output.length; ) {
      // Never between the halves of a surrogate pair.
      const last = output.charCodeAt(from + pieceLength - 1);
      const to = from + pieceLength - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
      yield* this.#counted({ type: 'text', text: output.slice(from, to) });
      from = to;
    }
    for (const { id, function: called } of toolCalls) {
      const begun = [...this.#calls.values()].find((call) => call.id === id);
      const index = begun?.index ?? this.#calls.size;
      const rest = called.arguments.slice(begun?.length ?? 0);
      yield* this.#counted({ type: 'tool_call', index, id, name: called.name, arguments: rest });
    }
  }

  *#counted(part: ChunkPart): Generator<ChunkPart> {
    const next = this.next(part);
    if (next !== null) yield next;
  }

  #nextOfCall({ index, id, name, arguments: given }: ToolCallPart): ToolCallPart | null {
    const begun = this.#calls.get(index);
    if (begun !== undefined) {
      if (given === '') return null;
      begun.length += given.length;
      return { type: 'tool_call', index, arguments: given };
    }
    this.#hasAny = true;
    const call = { index, id: id ?? `call_${index}`, length: given.length };
    this.#calls.set(index, call);
    return { type: 'tool_call', index, id: call.id, name: name ?? '', arguments: given };
  }
}
