import type { ServerResponse } from 'node:http';
import type { JobView } from '../../coordinator/coordinator.ts';
import type { ChunkPart } from '../../domain/chunkParts.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { Principal } from '../../domain/key.ts';
import type { HttpParts } from '../../http/parts.ts';
import { completed, endOf } from './ending.ts';
import { OpenAiError, shownInStream } from './errors.ts';
import { JobFollower, type PartSink } from './follower.ts';
import { SseOutlet } from './sse.ts';
import { WaitingComments } from './waitingComments.ts';

/** How a job looks in a stream: each method returns the text of events, in pieces, in the order in which it is called. */
export interface StreamPresenter {
  /** Before anything else. */
  begin(job: JobRecord): Iterable<string>;
  /** The job is in another state. */
  changed(job: JobRecord): Iterable<string>;
  /** The next part of the answer. */
  part(part: ChunkPart, job: JobRecord): Iterable<string>;
  /** The job has completed, and all of its answer was given. */
  end(job: JobRecord): Iterable<string>;
  /** The stream ends here. @param job as it was last seen; it has failed, was cancelled, or goes on without this stream. */
  broken(error: OpenAiError, job: JobRecord): Iterable<string>;
}

interface Options {
  principal: Principal;
  presenter: StreamPresenter;
  /** Where the answer of the job can be read later: `GET /v1/…`. */
  later: string;
  /** Aborted when the client has gone. */
  gone: AbortSignal;
}

/** Of a stream whose attempt has failed after a part of its answer was sent. */
export const spoiledCode = 'attempt_failed_midstream';

/** The error after which a stream cannot go on, because words cannot be taken back. */
export function spoiledError(jobId: string, later: string): OpenAiError {
  const message = `The attempt failed after a part of its answer was sent. Job ${jobId} goes on: ${later} has its answer later`;
  return new OpenAiError(message, {
    status: 502,
    type: 'api_error',
    code: spoiledCode,
    jobId,
  });
}

/** One job as an event stream, from its dispatch to its end, or to the failure of an attempt that was shown. */
export class JobStream implements PartSink {
  readonly #parts: HttpParts;
  readonly #options: Options;
  readonly #follower: JobFollower;
  readonly #comments: WaitingComments;
  #outlet: SseOutlet | null = null;
  #hasBegun = false;
  #isOver = false;

  /** It follows the job at once: nothing else may happen to it before. */
  constructor({ job }: JobView, parts: HttpParts, options: Options) {
    const { gone } = options;
    this.#parts = parts;
    this.#options = options;
    this.#follower = new JobFollower(job, parts);
    this.#comments = new WaitingComments(job.id, parts, (text) => this.#comment(text));
    gone.addEventListener('abort', () => this.#close(), { once: true });
    if (gone.aborted) this.#close();
  }

  get isFull(): boolean {
    return this.#outlet?.isFull !== false;
  }

  async drained(): Promise<void> {
    await this.#outlet?.drained();
  }

  take(part: ChunkPart): void {
    this.#write(this.#options.presenter.part(part, this.#follower.job));
  }

  changed(job: JobRecord): void {
    if (this.#hasBegun) this.#write(this.#options.presenter.changed(job));
  }

  spoiled(): void {
    this.#fail(spoiledError(this.#follower.job.id, this.#options.later));
  }

  /** Send headers, then the job to its end. */
  open(response: ServerResponse, view: JobView): void {
    const { answers } = this.#parts;
    const { principal } = this.#options;
    if (this.#isOver) return;
    this.#outlet = new SseOutlet(response, { answers, principal });
    this.#send(view).catch((error: unknown) => this.#fail(error));
  }

  async #send(view: JobView): Promise<void> {
    const { presenter, gone } = this.#options;
    const { id } = view.job;
    const now = await this.#parts.coordinator.job(id);
    this.#follower.saw(now.job);
    if (this.#isOver) return;
    this.#comments.begin(now);
    this.#hasBegun = true;
    this.#write(presenter.begin(this.#follower.job));
    this.#follower.start(this);
    const ended = await endOf(this.#parts.coordinator, id, gone);
    if (this.#isOver) return;
    const { job } = completed(ended);
    const rest = this.#follower.rest(job);
    if (rest === null) {
      this.spoiled();
      return;
    }
    // A comment would fall into an event that is written in pieces.
    this.#comments.end();
    for (const part of rest) await this.#outlet?.pour(presenter.part(part, job));
    await this.#outlet?.pour(presenter.end(job));
    this.#close();
  }

  #write(pieces: Iterable<string>): void {
    if (this.#isOver) return;
    for (const piece of pieces) this.#outlet?.write(piece);
  }

  #comment(text: string): void {
    if (this.#outlet?.isFull === false) this.#outlet.comment(text);
  }

  /** End the stream with an error. @param error anything that is not of ours is a bug, which the log has. */
  #fail(error: unknown): void {
    if (this.#isOver) return;
    const shown = shownInStream(error);
    if (shown.facts.code === 'internal_error') this.#parts.logger.error({ err: error }, 'a stream broke');
    this.#write(this.#options.presenter.broken(shown, this.#follower.job));
    this.#close();
  }

  /** Follow the job no longer. */
  #close(): void {
    this.#isOver = true;
    this.#follower.close();
    this.#comments.end();
    this.#outlet?.end();
  }
}
