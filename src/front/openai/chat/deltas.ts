import type { ChunkPart, ToolCallPart } from '../../../domain/chunkParts.ts';
import type { JobResult } from '../../../domain/job.ts';

interface ToolCallDelta {
  index: number;
  id?: string;
  type?: 'function';
  function: { name?: string; arguments: string };
}

/** One `delta` of a chunk. */
export interface Delta {
  role?: 'assistant';
  content?: string;
  /** Not OpenAI's own: what DeepSeek and vLLM call it, and SDKs read. */
  reasoning_content?: string;
  tool_calls?: [ToolCallDelta];
}

/** A tool call that has begun. */
interface BegunCall {
  index: number;
  id: string;
  /** Characters of its arguments that were sent. */
  length: number;
}

/** Turns the parts of one answer into deltas, and knows what of it was sent. */
export class Deltas {
  /** Characters of the output that were sent. */
  #text = 0;
  /** The end of them, to compare with the result. */
  #tail = '';
  /** Characters of the reasoning that were sent. */
  #reasoning = 0;
  /** By index. */
  readonly #calls = new Map<number, BegunCall>();
  #hasSent = false;

  /** Whether anything was sent that a second attempt could not take back. */
  get hasSent(): boolean {
    return this.#hasSent;
  }

  /** The delta of a part; null when it is empty. */
  of(part: ChunkPart): Delta | null {
    if (part.type === 'tool_call') return this.#callDelta(part);
    const { text } = part;
    if (text === '') return null;
    this.#hasSent = true;
    if (part.type === 'reasoning') {
      this.#reasoning += text.length;
      return { reasoning_content: text };
    }
    this.#text += text.length;
    this.#tail = text;
    return { content: text };
  }

  /** Whether the output goes on from what was sent: it does not when another attempt has made it. */
  isStartOf({ output }: JobResult): boolean {
    return output.slice(0, this.#text).endsWith(this.#tail) && output.length >= this.#text;
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
   * What of a result was not sent yet: text of at most `length` characters each, then the tool calls. Calls are told apart by
   * their ids: one that had begun and is not whole is not in the result.
   */
  *rest({ output, toolCalls = [] }: JobResult, length: number): Generator<ChunkPart> {
    for (let from = this.#text; from < output.length; ) {
      // Never between the halves of a surrogate pair.
      const last = output.charCodeAt(from + length - 1);
      const to = from + length - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
      yield { type: 'text', text: output.slice(from, to) };
      from = to;
    }
    for (const { id, function: called } of toolCalls) {
      const begun = [...this.#calls.values()].find((call) => call.id === id);
      if (begun === undefined) yield { type: 'tool_call', index: this.#calls.size, id, ...called };
      else if (begun.length < called.arguments.length) {
        const { index, length: sent } = begun;
        yield { type: 'tool_call', index, arguments: called.arguments.slice(sent) };
      }
    }
  }

  #callDelta({ index, id, name, arguments: given }: ToolCallPart): Delta | null {
    const begun = this.#calls.get(index);
    if (begun !== undefined) {
      if (given === '') return null;
      begun.length += given.length;
      return { tool_calls: [{ index, function: { arguments: given } }] };
    }
    this.#hasSent = true;
    const call = { index, id: id ?? `call_${index}`, length: given.length };
    this.#calls.set(index, call);
    return {
      tool_calls: [
        { index, id: call.id, type: 'function', function: { name: name ?? '', arguments: given } },
      ],
    };
  }
}
