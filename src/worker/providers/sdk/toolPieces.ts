import type { ToolCallPart } from '../../../domain/chunkParts.ts';
import type { ToolCall } from '../../../domain/job.ts';

interface Announced {
  index: number;
  hasArguments: boolean;
  isWhole: boolean;
}

/** The tool calls of one answer: passes their pieces on as they arrive, and puts the whole calls in the same order. */
export class ToolPieces {
  readonly #onPart: (part: ToolCallPart) => void;
  readonly #announced = new Map<string, Announced>();
  readonly #whole: { index: number; call: ToolCall }[] = [];
  #count = 0;

  constructor(onPart: (part: ToolCallPart) => void) {
    this.#onPart = onPart;
  }

  /** Every whole call so far; the place of each is the index of its pieces. */
  get calls(): ToolCall[] {
    return this.#whole.toSorted((a, b) => a.index - b.index).map(({ call }) => call);
  }

  /** A call begins. */
  begin(id: string, name: string): void {
    this.#announce(id, name, '');
  }

  /** More arguments of a call. One that did not begin is the provider's own and ignored. */
  more(id: string, json: string): void {
    const call = this.#announced.get(id);
    if (call === undefined || json === '') return;
    call.hasArguments = true;
    this.#onPart({ type: 'tool_call', index: call.index, arguments: json });
  }

  /** A call is whole. What was not passed on in pieces is passed on now. */
  end(call: ToolCall): void {
    const { id } = call;
    const { name, arguments: json } = call.function;
    const known = this.#announced.get(id);
    // Some servers give each call the same id.
    const announced = known === undefined || known.isWhole ? this.#announce(id, name, json) : known;
    if (!announced.hasArguments) this.more(id, json);
    announced.isWhole = true;
    this.#whole.push({ index: announced.index, call });
  }

  #announce(id: string, name: string, json: string): Announced {
    const announced = { index: this.#count++, hasArguments: json !== '', isWhole: false };
    this.#announced.set(id, announced);
    this.#onPart({ type: 'tool_call', index: announced.index, id, name, arguments: json });
    return announced;
  }
}
