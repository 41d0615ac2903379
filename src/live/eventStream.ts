import type { ServerResponse } from 'node:http';
import type { KeyRing } from '../auth/keyRing.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { Clock } from '../domain/clock.ts';
import type { Principal } from '../domain/key.ts';
import { type Topic, topicOfJob } from '../domain/liveProtocol.ts';
import { isTerminal } from '../domain/states.ts';
import { iso } from '../domain/wire/iso.ts';
import { closeCodes } from '../domain/workerProtocol.ts';
import { eventStreamEvent, unnumberedEvent } from './encoding.ts';
import type { Live } from './live.ts';
import type { Outlet } from './outlet.ts';
import { assertMayHear } from './topics.ts';

/** How long a browser waits before it connects again, ms. */
const retryMs = 2_000;
/** How long the rest of a stream may take to be read once it has ended, ms. */
const endMs = 1_000;

/** One event stream as an outlet. */
class EventStream implements Outlet {
  readonly encoding = eventStreamEvent;
  readonly unnumbered = unnumberedEvent;
  readonly #response: ServerResponse;
  readonly #clock: Clock;

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      // A proxy must neither keep nor gather it.
      'Cache-Control': 'no-store, no-transform',
      'X-Accel-Buffering': 'no',
    });
    response.write(`retry: ${retryMs}\n\n`);
  }

  get unsentBytes(): number {
    return this.#response.writableLength;
  }

  write(bytes: Buffer): void {
    this.#response.write(bytes);
  }

  onTaken(done: () => void): void {
    this.#response.once('drain', done);
  }

  /** A comment: it keeps proxies from taking the connection for dead, and tells us when it is. */
  ping(): void {
    this.#response.write(': ping\n\n');
  }

  end(): void {
    const response = this.#response;
    response.end();
    // Whoever does not read would hold the connection for ever.
    const cancel = this.#clock.after(endMs, () => response.destroy());
    response.once('close', cancel);
  }
}

export interface StreamRequest {
  principal: Principal;
  /** The last event the client has; null for none. */
  since: number | null;
}

/**
 * Turns an answer that has not begun into an event stream.
 * @throws CoordinatorError share_exceeded or rate_limited when there is no place for one more subscriber; draining.
 */
export type StartStream = (response: ServerResponse) => void;

/** The event streams of the API. What can be refused is refused before a stream begins. */
export class EventStreams {
  readonly #live: Live;
  readonly #coordinator: Coordinator;
  readonly #keys: KeyRing;
  readonly #clock: Clock;

  constructor(options: { live: Live; coordinator: Coordinator; keys: KeyRing; clock: Clock }) {
    this.#live = options.live;
    this.#coordinator = options.coordinator;
    this.#keys = options.keys;
    this.#clock = options.clock;
  }

  /**
   * The same events as on the WebSocket.
   * @throws CoordinatorError job_not_found; forbidden for a topic that the key may not hear.
   */
  async all(request: StreamRequest & { topics: readonly Topic[] }): Promise<StartStream> {
    assertMayHear(request.principal.role, request.topics);
    await this.#live.snapshots.assertKnown(request.topics);
    return this.#start(request, null);
  }

  /**
   * One job, to its end.
   * @returns null when the client has its end already: a browser is told not to come again.
   * @throws CoordinatorError job_not_found.
   */
  async job(request: StreamRequest & { jobId: string }): Promise<StartStream | null> {
    const { jobId, since } = request;
    const topic = topicOfJob(jobId);
    const { job } = await this.#coordinator.job(jobId);
    const { history } = this.#live;
    const hasAll =
      since !== null &&
      history.covers(topic, since, false) &&
      history.after(new Map([[topic, since]])).length === 0;
    if (isTerminal(job.state) && hasAll) return null;
    return this.#start({ ...request, topics: [topic] }, jobId);
  }

  /** Why a live connection would be refused now, for people; null when there is room. */
  refusal(principal: Principal): string | null {
    return this.#live.refusal(principal)?.message ?? null;
  }

  #start(
    { principal, topics, since }: StreamRequest & { topics: readonly Topic[] },
    endsWith: string | null,
  ): StartStream {
    const noRoom = this.#live.answers.refusalOfShare(principal);
    if (noRoom !== null) throw noRoom;
    return (response) => {
      if (response.destroyed) return;
      const refusal = this.#live.admit(principal);
      if (refusal !== null) throw refusal;
      const subscriber = this.#live.join(new EventStream(response, this.#clock), principal, endsWith);
      const unwatch = this.#keys.watch(principal, () => {
        subscriber.end(closeCodes.keyRefused, 'the key is no longer taken');
      });
      response.once('close', () => {
        unwatch();
        this.#live.release(principal);
        subscriber.left();
      });
      response.on('error', () => {});
      subscriber.greet(principal.role, iso(this.#clock.now()));
      subscriber.subscribe(topics, since).catch((error: unknown) => {
        this.#live.failed(error);
        subscriber.end(closeCodes.tryAgainLater, 'the state could not be read');
      });
    };
  }
}
