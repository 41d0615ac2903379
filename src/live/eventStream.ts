import type { ServerResponse } from 'node:http';
import type { KeyRing } from '../auth/keyRing.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { Clock } from '../domain/clock.ts';
import type { Principal } from '../domain/key.ts';
import { type JobOutput, type Topic, topicOfJob } from '../domain/liveProtocol.ts';
import { isTerminal } from '../domain/states.ts';
import { iso } from '../domain/wire/iso.ts';
import { closeCodes } from '../domain/workerProtocol.ts';
import { eventStreamEvent, unnumberedEvent } from './encoding.ts';
import type { Live } from './live.ts';
import type { Outlet } from './outlet.ts';
import { assertMaySubscribe } from './topics.ts';

/** How long a browser waits before it reconnects, ms. */
const retryMs = 2_000;
/** How long a client may take to read the rest of an ended stream, ms. */
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
      // A proxy must neither cache nor buffer it.
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

  onDrained(done: () => void): void {
    this.#response.once('drain', done);
  }

  /** A comment: it keeps proxies from closing an idle connection, and shows us when it is dead. */
  ping(): void {
    this.#response.write(': ping\n\n');
  }

  end(): void {
    const response = this.#response;
    response.end();
    // A client that does not read would keep the connection open for ever.
    const cancel = this.#clock.after(endMs, () => response.destroy());
    response.once('close', cancel);
  }
}

export interface StreamRequest {
  principal: Principal;
  /** The last event the client received; null for none. */
  since: number | null;
}

/**
 * Turns a response that has not begun into an event stream.
 * @throws CoordinatorError share_exceeded or rate_limited when there is no place for another subscriber; draining.
 */
export type StartStream = (response: ServerResponse) => void;

/** The event streams of the API. Every refusal happens before a stream begins. */
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
   * @throws CoordinatorError job_not_found; forbidden for a topic that the role may not subscribe to.
   */
  async all(request: StreamRequest & { topics: readonly Topic[] }): Promise<StartStream> {
    assertMaySubscribe(request.principal.role, request.topics);
    await this.#live.snapshots.assertKnown(request.topics);
    return this.#start(request, null);
  }

  /**
   * One job, to its end.
   * @returns null when the client already has its end: the browser should not reconnect.
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

  /** See `Live.outputSoFar`. */
  outputSoFar(jobId: string): Omit<JobOutput, 'truncated'> | null {
    return this.#live.outputSoFar(jobId);
  }

  /** Why a live connection would be refused now, for people; null when there is a place. */
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
        subscriber.end(closeCodes.keyRefused, 'the key is no longer valid');
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
