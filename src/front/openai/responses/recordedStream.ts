import type { ServerResponse } from 'node:http';
import type { JobView } from '../../../coordinator/coordinator.ts';
import type { JobRecord } from '../../../domain/job.ts';
import type { Principal } from '../../../domain/key.ts';
import type { HttpParts } from '../../../http/parts.ts';
import { completed, endOf } from '../ending.ts';
import { type OpenAiError, shownInStream } from '../errors.ts';
import { responseIdOf } from '../ids.ts';
import { spoiledError } from '../jobStream.ts';
import { Sent } from '../sent.ts';
import { SseOutlet } from '../sse.ts';
import { WaitingComments } from '../waitingComments.ts';
import { ResponseEvents } from './events.ts';
import type { SpoolLine } from './recorder.ts';

interface Options {
  principal: Principal;
  /** Events up to this number are left out. */
  after: number;
  /** Aborted when the client has gone. */
  gone: AbortSignal;
}

/**
 * The stream of a response in the background, from its spool: from the beginning, at the pace of its reader, to the end of the
 * job. What was not recorded comes from the result. Whoever reads it gets the same events, and going away changes nothing.
 */
export class RecordedStream {
  readonly #parts: HttpParts;
  readonly #options: Options;
  readonly #events: ResponseEvents;
  readonly #sent = new Sent();
  readonly #comments: WaitingComments;
  readonly #forget: (() => void)[] = [];
  #job: JobRecord;
  #outlet: SseOutlet | null = null;
  /** Of the attempt that was recorded. */
  #lease: number | null = null;
  /** Where the next line of the spool is. */
  #place = 0;
  #isSpoiled = false;
  #ended: JobView | null = null;
  /** Why the end cannot be waited for; null while it can. */
  #failure: { error: unknown } | null = null;
  #hasNews = false;
  /** An event is being written, maybe in pieces. */
  #isPouring = false;
  #wake: () => void = () => {};
  #isOver = false;

  constructor({ job }: JobView, parts: HttpParts, options: Options) {
    const { coordinator } = parts;
    this.#job = job;
    this.#parts = parts;
    this.#options = options;
    this.#events = new ResponseEvents(job, options.after);
    this.#comments = new WaitingComments(job.id, parts, (text) => this.#comment(text));
    const news = (): void => this.#notice();
    const unsubscribe = coordinator.bus.subscribeJob(job.id, (event) => {
      if (event.type === 'job.progress') return;
      this.#job = event.job;
      news();
    });
    const growing = coordinator.spools.growing(job.id);
    this.#forget.push(unsubscribe, growing?.onChange(news) ?? (() => {}));
    options.gone.addEventListener('abort', () => this.#close(), { once: true });
    if (options.gone.aborted) this.#close();
  }

  /** Send headers, then the stream to its end. */
  open(response: ServerResponse, view: JobView): void {
    const { answers } = this.#parts;
    const { principal } = this.#options;
    if (this.#isOver) return;
    this.#outlet = new SseOutlet(response, { answers, principal });
    this.#send(view).catch((error: unknown) => this.#fail(error));
  }

  async #send(view: JobView): Promise<void> {
    const now = await this.#parts.coordinator.job(view.job.id);
    if (now.job.version > this.#job.version) this.#job = now.job;
    if (this.#isOver) return;
    await this.#pour(this.#events.begin(this.#job));
    this.#comments.begin(now);
    this.#awaitEnd();
    const ended = await this.#follow();
    if (ended === null) return;
    const { job } = completed(ended);
    const rest = this.#isSpoiled ? null : this.#sent.rest(job, this.#lease);
    if (rest === null) throw this.#spoiled();
    for (const part of rest) await this.#pour(this.#events.part(part, job));
    await this.#pour(this.#events.end(job));
    this.#close();
  }

  /** Send what is recorded until nothing more will be. @returns the job at its end; null when the stream is over before. */
  async #follow(): Promise<JobView | null> {
    const { spools } = this.#parts.coordinator;
    for (;;) {
      this.#hasNews = false;
      // Before the lines are read: it may end after the last of them.
      const isGrowing = spools.growing(this.#job.id) !== null;
      const ended = this.#ended;
      await this.#pour(this.#events.changed(this.#job));
      await this.#sendLines();
      if (this.#isOver) return null;
      if (this.#isSpoiled) throw this.#spoiled();
      if (this.#failure !== null) throw this.#failure.error;
      if (ended !== null && !isGrowing) return ended;
      await this.#news();
    }
  }

  async #sendLines(): Promise<void> {
    for await (const { lines, next } of this.#parts.coordinator.spools.read(this.#job.id, this.#place)) {
      for (const text of lines) {
        const line: SpoolLine = JSON.parse(text);
        if ('spoiled' in line) {
          this.#isSpoiled = true;
          return;
        }
        this.#lease = line.lease;
        const part = this.#sent.next(line.part);
        if (part !== null) await this.#pour(this.#events.part(part, this.#job));
        if (this.#isOver) return;
      }
      this.#place = next;
    }
  }

  async #news(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (!this.#hasNews && !this.#isOver) await promise;
  }

  async #pour(pieces: Iterable<string>): Promise<void> {
    this.#isPouring = true;
    await this.#outlet?.pour(pieces);
    this.#isPouring = false;
  }

  #notice(): void {
    this.#hasNews = true;
    this.#wake();
  }

  #awaitEnd(): void {
    endOf(this.#parts.coordinator, this.#job.id, this.#options.gone)
      .then((ended) => {
        this.#ended = ended;
      })
      .catch((error: unknown) => {
        this.#failure = { error };
      })
      .finally(() => this.#notice());
  }

  #comment(text: string): void {
    if (!this.#isPouring && this.#outlet?.isFull === false) this.#outlet.comment(text);
  }

  #spoiled(): OpenAiError {
    const { id } = this.#job;
    return spoiledError(id, `GET /v1/responses/${responseIdOf(id)} without stream`);
  }

  /** End the stream with an error. @param error anything that is not of ours is a bug, which the log has. */
  #fail(error: unknown): void {
    if (this.#isOver) return;
    const shown = shownInStream(error);
    if (shown.facts.code === 'internal_error') this.#parts.logger.error({ err: error }, 'a stream broke');
    for (const piece of this.#events.broken(shown, this.#ended?.job ?? this.#job)) this.#outlet?.write(piece);
    this.#close();
  }

  #close(): void {
    this.#isOver = true;
    for (const forget of this.#forget) forget();
    this.#comments.end();
    this.#outlet?.end();
    this.#wake();
  }
}
