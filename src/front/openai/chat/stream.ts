import type { ServerResponse } from 'node:http';
import type { JobView } from '../../../coordinator/coordinator.ts';
import type { JobLiveEvent } from '../../../coordinator/core/index.ts';
import { type ChunkPart, lengthOfPart } from '../../../domain/chunkParts.ts';
import type { JobRecord, JobResult } from '../../../domain/job.ts';
import type { Principal } from '../../../domain/key.ts';
import { isTerminal, statusOf } from '../../../domain/states.ts';
import { iso } from '../../../domain/wire/iso.ts';
import { chunkLengthMax } from '../../../domain/workerProtocol.ts';
import type { HttpParts } from '../../../http/parts.ts';
import { errorAnswer, OpenAiError, shownInStream } from '../errors.ts';
import { SseOutlet } from '../sse.ts';
import { finishReasonOf, headingOf, usageOf } from './completion.ts';
import { type Delta, Deltas } from './deltas.ts';
import { endOf } from './ending.ts';

/** Between two comments while nothing else is sent. Proxies close what is idle for 15 s or more. */
const commentMs = 10_000;
/** Characters of a text that are sent at once when it was not streamed. */
const pieceLength = 64 * 1024;

/** What all chunks of a stream have in common. */
interface Frame {
  /** An object that is not closed. */
  heading: string;
  head: string;
  tail: string;
}

interface Options {
  principal: Principal;
  /** The model as the client named it. */
  model: string;
  hasUsage: boolean;
  /** Aborted when the client has gone. */
  gone: AbortSignal;
}

/**
 * One job as a stream of chunks. Nothing is sent of an attempt before its first piece, so retries and fallbacks are
 * invisible until then; after that a failed attempt ends the stream with an error, for words cannot be taken back.
 *
 * It follows the job from its construction on. While its client reads too slowly, or a piece was lost on its way, it skips
 * pieces; it goes on from the output so far when the client has read, and at the latest from the result.
 */
export class ChatStream {
  readonly #parts: HttpParts;
  readonly #options: Options;
  readonly #deltas = new Deltas();
  readonly #unsubscribe: () => void;
  #job: JobRecord;
  #outlet: SseOutlet | null = null;
  /** The lease whose pieces are sent, and the last of them. */
  #lease: number | null = null;
  #seq = 0;
  /** Pieces are skipped. */
  #isBehind = true;
  /** The start and the end of every chunk around its delta; made with the first one, when the model is known. */
  #frame: Frame | null = null;
  #isOver = false;
  #cancelComment: () => void = () => {};

  constructor({ job }: JobView, parts: HttpParts, options: Options) {
    const { gone } = options;
    this.#job = job;
    this.#parts = parts;
    this.#options = options;
    this.#unsubscribe = parts.coordinator.bus.subscribeJob(job.id, (event) => this.#follow(event));
    gone.addEventListener('abort', () => this.#close(), { once: true });
    if (gone.aborted) this.#close();
  }

  /** Send headers, then the job to its end. */
  open(response: ServerResponse, view: JobView): void {
    const { answers, coordinator } = this.#parts;
    const { principal, gone } = this.#options;
    if (this.#isOver) return;
    this.#outlet = new SseOutlet(response, { answers, principal });
    if (view.waiting !== null) this.#outlet.comment(waitingText(view));
    this.#catchUp();
    this.#commentLater();
    endOf(coordinator, this.#job.id, gone)
      .then((ended) => this.#finish(ended))
      .catch((error: unknown) => this.#fail(error));
  }

  /** Follow the job no longer. */
  #close(): void {
    this.#isOver = true;
    this.#unsubscribe();
    this.#cancelComment();
    this.#outlet?.end();
  }

  #follow(event: JobLiveEvent): void {
    if (this.#isOver) return;
    if (event.type !== 'job.progress') {
      this.#job = event.job;
      if (event.type === 'job.requeued') this.#attemptEnded();
      return;
    }
    if (this.#isBehind) return;
    const { lease, seq } = event;
    if (lease !== this.#lease) {
      this.#attemptEnded();
      if (this.#isOver) return;
      this.#lease = lease;
    }
    // A worker that has reconnected may repeat itself.
    if (seq <= this.#seq) return;
    // Of a longer piece the end is cut off.
    const length = event.parts.reduce((sum, part) => sum + lengthOfPart(part), 0);
    const isWhole = seq === this.#seq + 1 && length < chunkLengthMax - 1;
    if (!isWhole || this.#outlet?.isFull !== false) {
      this.#isBehind = true;
      void this.#outlet?.drained().then(() => this.#catchUp());
      return;
    }
    this.#seq = seq;
    for (const part of event.parts) this.#send(part);
  }

  /** The attempt whose pieces were sent has failed, or another one has begun. */
  #attemptEnded(): void {
    if (this.#deltas.hasSent) {
      const { id } = this.#job;
      const message = `The attempt failed after a part of its answer was sent. Job ${id} goes on: GET /v1/chat/completions/${this.#heading.id} has its answer later`;
      const facts = { status: 502, type: 'api_error', code: 'attempt_failed_midstream', jobId: id };
      this.#fail(new OpenAiError(message, facts));
      return;
    }
    this.#lease = null;
    this.#seq = 0;
    this.#isBehind = this.#outlet?.isFull !== false;
  }

  /** Send what the running attempt has generated so far, and every piece from then on. */
  #catchUp(): void {
    if (this.#isOver || this.#outlet?.isFull !== false) return;
    const soFar = this.#parts.streams.outputSoFar(this.#job.id);
    const isOther = soFar !== null && this.#lease !== null && soFar.lease !== this.#lease;
    if (isOther) this.#attemptEnded();
    if (this.#isOver) return;
    if (soFar === null) {
      // Nothing was lost only while nothing was generated.
      this.#isBehind = this.#lease !== null;
      return;
    }
    this.#isBehind = false;
    this.#lease = soFar.lease;
    this.#seq = soFar.seq;
    const { text, parts = [{ type: 'text', text }] } = soFar;
    for (const part of this.#deltas.unsent(parts)) this.#send(part);
  }

  async #finish(view: JobView): Promise<void> {
    const { job } = view;
    this.#job = job;
    if (this.#isOver) return;
    const ended = job.life.result;
    const winner = job.life.attempts.find(({ outcome }) => outcome === 'completed');
    const isOther = winner !== undefined && this.#lease !== null && winner.lease !== this.#lease;
    if (ended === null || !isTerminal(job.state)) return;
    if (this.#deltas.hasSent && (isOther || !this.#deltas.isStartOf(ended))) {
      this.#attemptEnded();
      return;
    }
    this.#isBehind = true;
    await this.#sendRest(ended);
    if (this.#isOver) return;
    this.#sendChunk({}, finishReasonOf(ended));
    if (this.#options.hasUsage) this.#sendUsage(ended);
    this.#outlet?.write('data: [DONE]\n\n');
    this.#close();
  }

  /** As fast as the client reads. */
  async #sendRest(result: JobResult): Promise<void> {
    const outlet = this.#outlet;
    for (const part of this.#deltas.rest(result, pieceLength)) {
      if (outlet?.isFull === true) await outlet.drained();
      if (this.#isOver) return;
      this.#send(part);
    }
  }

  /** End the stream with an error. @param error anything that is not of ours is a bug, which the log has. */
  #fail(error: unknown): void {
    if (this.#isOver) return;
    const shown = shownInStream(error);
    if (shown.facts.code === 'internal_error') this.#parts.logger.error({ err: error }, 'a stream broke');
    this.#outlet?.write(`data: ${JSON.stringify(errorAnswer(shown).json)}\n\n`);
    this.#close();
  }

  #send(part: ChunkPart): void {
    const delta = this.#deltas.of(part);
    if (delta !== null) this.#sendChunk(delta, null);
  }

  #sendChunk(delta: Delta, finish: string | null): void {
    const outlet = this.#outlet;
    if (outlet === null) return;
    let text = '';
    if (this.#frame === null) {
      this.#frame = this.#makeFrame();
      text = this.#chunk({ role: 'assistant', content: '' }, null, this.#frame);
    }
    outlet.write(text + this.#chunk(delta, finish, this.#frame));
  }

  #chunk(delta: Delta, finish: string | null, { head, tail }: Frame): string {
    return `${head}${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}]${tail}`;
  }

  get #heading() {
    return headingOf(this.#job, this.#options.model);
  }

  #makeFrame(): Frame {
    const heading = JSON.stringify({ object: 'chat.completion.chunk', ...this.#heading }).slice(0, -1);
    return {
      heading,
      head: `data: ${heading},"choices":[{"index":0,"delta":`,
      tail: this.#options.hasUsage ? ',"usage":null}\n\n' : '}\n\n',
    };
  }

  #sendUsage(result: JobResult): void {
    const { heading } = this.#frame ?? this.#makeFrame();
    this.#outlet?.write(`data: ${heading},"choices":[],"usage":${JSON.stringify(usageOf(result))}}\n\n`);
  }

  #commentLater(): void {
    this.#cancelComment = this.#parts.clock.after(commentMs, () => {
      void this.#comment().catch((error: unknown) => {
        this.#parts.logger.debug({ err: error }, 'a stream could not say why its job waits');
      });
    });
  }

  async #comment(): Promise<void> {
    const { coordinator } = this.#parts;
    try {
      const view = await coordinator.job(this.#job.id);
      if (this.#isOver || this.#outlet?.isFull !== false) return;
      this.#outlet.comment(view.waiting === null ? statusOf(view.job.state) : waitingText(view));
    } finally {
      if (!this.#isOver) this.#commentLater();
    }
  }
}

/** `queued position=7 reason=workers_busy`. */
function waitingText({ waiting }: JobView): string {
  const { position = null, reason = null, until = null } = waiting ?? {};
  const facts = [
    'queued',
    ...(position === null ? [] : [`position=${position}`]),
    ...(reason === null ? [] : [`reason=${reason}`]),
    ...(until === null ? [] : [`until=${iso(until)}`]),
  ];
  return facts.join(' ');
}
