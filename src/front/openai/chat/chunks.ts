import type { ChunkPart } from '../../../domain/chunkParts.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { errorAnswer, type OpenAiError } from '../errors.ts';
import type { StreamPresenter } from '../jobStream.ts';
import { finishReasonOf, headingOf, usageOf } from './completion.ts';

interface ToolCallDelta {
  index: number;
  id?: string;
  type?: 'function';
  function: { name?: string; arguments: string };
}

/** One `delta` of a chunk. */
interface Delta {
  role?: 'assistant';
  content?: string;
  /** Not OpenAI's own: what DeepSeek and vLLM call it, and SDKs read. */
  reasoning_content?: string;
  tool_calls?: [ToolCallDelta];
}

/** What all chunks of a stream have in common. */
interface Frame {
  /** An object that is not closed. */
  heading: string;
  head: string;
  tail: string;
}

/** A job as the chunks of a chat completion. */
export class ChatChunks implements StreamPresenter {
  readonly #model: string;
  readonly #hasUsage: boolean;
  /** The start and the end of every chunk around its delta; made with the first one, when the model is known. */
  #frame: Frame | null = null;

  /** @param options.model as the client named it. @param options.hasUsage the stream ends with a chunk of usage. */
  constructor({ model, hasUsage }: { model: string; hasUsage: boolean }) {
    this.#model = model;
    this.#hasUsage = hasUsage;
  }

  begin(): string[] {
    return [];
  }

  changed(): string[] {
    return [];
  }

  *part(part: ChunkPart, job: JobRecord): Generator<string> {
    yield* this.#chunk(deltaOf(part), null, job);
  }

  *end(job: JobRecord): Generator<string> {
    const { result } = job.life;
    if (result === null) return;
    yield* this.#chunk({}, finishReasonOf(result), job);
    if (this.#hasUsage) {
      const { heading } = this.#frame ?? this.#makeFrame(job);
      yield `data: ${heading},"choices":[],"usage":${JSON.stringify(usageOf(result))}}\n\n`;
    }
    yield 'data: [DONE]\n\n';
  }

  *broken(error: OpenAiError): Generator<string> {
    yield `data: ${JSON.stringify(errorAnswer(error).json)}\n\n`;
  }

  *#chunk(delta: Delta, finish: string | null, job: JobRecord): Generator<string> {
    if (this.#frame === null) {
      this.#frame = this.#makeFrame(job);
      yield chunkOf({ role: 'assistant', content: '' }, null, this.#frame);
    }
    yield chunkOf(delta, finish, this.#frame);
  }

  #makeFrame(job: JobRecord): Frame {
    const facts = { object: 'chat.completion.chunk', ...headingOf(job, this.#model) };
    const heading = JSON.stringify(facts).slice(0, -1);
    return {
      heading,
      head: `data: ${heading},"choices":[{"index":0,"delta":`,
      tail: this.#hasUsage ? ',"usage":null}\n\n' : '}\n\n',
    };
  }
}

function chunkOf(delta: Delta, finish: string | null, { head, tail }: Frame): string {
  return `${head}${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}]${tail}`;
}

/** Only the first piece of a call has its id. */
function deltaOf(part: ChunkPart): Delta {
  if (part.type === 'text') return { content: part.text };
  if (part.type === 'reasoning') return { reasoning_content: part.text };
  const { index, id, name, arguments: given } = part;
  if (id === undefined) return { tool_calls: [{ index, function: { arguments: given } }] };
  const called = { name: name ?? '', arguments: given };
  return { tool_calls: [{ index, id, type: 'function', function: called }] };
}
