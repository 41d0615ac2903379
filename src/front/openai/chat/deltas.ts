import type { JobLiveEvent } from '../../../coordinator/core/index.ts';
import type { JobResult } from '../../../domain/job.ts';

/** A piece of an answer while it is generated. Workers send text alone today. */
export type ProgressPart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** The first piece of a call has its id and name; `index` counts the calls of the answer from 0. */
  | { type: 'tool_call'; index: number; id?: string; name?: string; arguments: string };

type Progress = Extract<JobLiveEvent, { type: 'job.progress' }>;

/** The parts of what a worker sent. The one place to change when workers send more than text. */
export function partsOf({ text }: Pick<Progress, 'text'>): ProgressPart[] {
  return [{ type: 'text', text }];
}

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

/** Turns the parts of one answer into deltas, and knows what of it was sent. */
export class Deltas {
  /** Characters of the output that were sent. */
  #sent = 0;
  /** The end of them, to compare with the result. */
  #tail = '';
  /** Tool calls that have begun. */
  readonly #calls = new Set<number>();
  #hasSent = false;

  /** Whether anything was sent that a second attempt could not take back. */
  get hasSent(): boolean {
    return this.#hasSent;
  }

  /** Characters of the output that were sent. */
  get length(): number {
    return this.#sent;
  }

  /** The delta of a part; null when it is empty. */
  of(part: ProgressPart): Delta | null {
    if (part.type === 'tool_call') return this.#callDelta(part);
    if (part.text === '') return null;
    this.#hasSent = true;
    if (part.type === 'reasoning') return { reasoning_content: part.text };
    this.#sent += part.text.length;
    this.#tail = part.text;
    return { content: part.text };
  }

  /** Whether the output goes on from what was sent: it does not when another attempt has made it. */
  isStartOf({ output }: JobResult): boolean {
    return output.slice(0, this.#sent).endsWith(this.#tail) && output.length >= this.#sent;
  }

  /** What of a result was not sent yet, as parts: text of at most `length` characters each, then whole tool calls. */
  *rest({ output, toolCalls = [] }: JobResult, length: number): Generator<ProgressPart> {
    for (let from = this.#sent; from < output.length; ) {
      // Never between the halves of a surrogate pair.
      const last = output.charCodeAt(from + length - 1);
      const to = from + length - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
      yield { type: 'text', text: output.slice(from, to) };
      from = to;
    }
    for (const [index, call] of toolCalls.entries()) {
      if (this.#calls.has(index)) continue;
      yield { type: 'tool_call', index, id: call.id, ...call.function };
    }
  }

  #callDelta({ index, id, name, arguments: given }: Extract<ProgressPart, { type: 'tool_call' }>): Delta {
    this.#hasSent = true;
    if (this.#calls.has(index)) return { tool_calls: [{ index, function: { arguments: given } }] };
    this.#calls.add(index);
    return {
      tool_calls: [
        {
          index,
          id: id ?? `call_${index}`,
          type: 'function',
          function: { name: name ?? '', arguments: given },
        },
      ],
    };
  }
}
