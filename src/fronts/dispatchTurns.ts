import type { KeyRing } from '../auth/keyRing.ts';
import type { Config } from '../config/config.ts';
import type { Coordinator, JobView } from '../coordinator/coordinator.ts';
import type { Clock } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import { type Principal, roleMay } from '../domain/key.ts';
import { dispatchJob } from '../http/routes/jobs/dispatch.ts';
import { parseIdempotencyKey } from '../http/routes/jobs/schema.ts';
import type { Uploads } from '../http/uploads.ts';
import { clientAddress } from '../lib/clientAddress.ts';
import type { Connections } from '../lib/connections.ts';
import { isKnownHost } from '../lib/hosts.ts';
import type { Logger } from '../lib/log.ts';
import { holderOf } from '../lib/places.ts';
import type { RateLimiter } from '../lib/rateLimiter.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { HeldConnection } from './heldConnection.ts';
import type { AskedJob, Caller, FrontTurn } from './messages.ts';

/** What decides about a dispatch: the same parts as behind the HTTP routes. */
export interface DispatchParts {
  coordinator: Coordinator;
  keys: KeyRing;
  connections: Connections;
  uploads: Uploads;
  rates: RateLimiter;
  metrics: Metrics;
  config: () => Config;
  clock: Clock;
  logger: Logger;
}

/** What a front is answered, gathered by turns. */
export interface Answers {
  made(connection: number, view: JobView): void;
  /** Nothing has happened: the front hands the connection over with the request, and the ordinary code answers it. */
  returned(connection: number): void;
  cut(connection: number): void;
}

/**
 * The core's side of one front: decides about the jobs that it asks for. Each is checked as the HTTP routes check a
 * dispatch, in the same order and with the same counters; whatever is not plainly a new job is returned before anything
 * has happened, so that every refusal comes from one place.
 */
export class DispatchTurns {
  readonly #parts: DispatchParts;
  readonly #answers: Answers;
  readonly #held = new Map<number, HeldConnection>();
  #isClosed = false;
  /** The last Host header that was ours. */
  #knownHost: { own: Config; header: string } | null = null;

  constructor(parts: DispatchParts, answers: Answers) {
    this.#parts = parts;
    this.#answers = answers;
  }

  take({ refused, closed, callers, jobs }: FrontTurn): void {
    if (this.#isClosed) return;
    const principals = callers.map((caller) => this.#principalOf(caller));
    const at = performance.now();
    for (const job of jobs) {
      const principal = principals[job.caller] ?? null;
      const address = callers[job.caller]?.address ?? '';
      const held = principal === null ? null : this.#admit(job, principal, address);
      if (held === null || principal === null) this.#return(job);
      else this.#dispatch(job, principal, held, at);
    }
    for (const number of closed) this.#forget(number);
    for (let count = 0; count < refused; count += 1) this.#parts.metrics.bounds.connectionRefused();
  }

  /** The front has gone, and its connections with it. */
  close(): void {
    this.#isClosed = true;
    for (const number of [...this.#held.keys()]) this.#forget(number);
  }

  #forget(number: number): void {
    const held = this.#held.get(number);
    this.#held.delete(number);
    if (held !== undefined) this.#parts.connections.closed(held);
  }

  /** @returns null for one that the ordinary code refuses. */
  #principalOf(caller: Caller): Principal | null {
    const { keys, config } = this.#parts;
    const own = config();
    if (this.#knownHost?.header !== caller.host || this.#knownHost.own !== own) {
      if (!isKnownHost(caller.host, own)) return null;
      this.#knownHost = { own, header: caller.host };
    }
    const principal = keys.authenticate(caller.authorization);
    if (typeof principal === 'string' || !roleMay(principal.role, dispatchJob.role)) return null;
    const headers = { 'x-forwarded-for': caller.forwardedFor };
    const socket = { remoteAddress: caller.address };
    const address = clientAddress({ headers, socket }, own.http.trustedProxies);
    keys.clients.note(principal.keyId, caller.userAgent, address || null);
    return principal;
  }

  /** Everything that may refuse before the job is decided on. @returns null when something does; nothing is counted then. */
  #admit({ connection, bytes }: AskedJob, principal: Principal, address: string): HeldConnection | null {
    const { connections, rates, uploads, clock, config } = this.#parts;
    const { http } = config();
    let held = this.#held.get(connection);
    if (held === undefined) {
      held = new HeldConnection(connection, principal, (number) => this.#answers.cut(number));
      if (!connections.open(held, address)) return null;
      this.#held.set(connection, held);
    }
    if (connections.claim(held, principal) !== null || bytes > http.maxBodyBytes) return null;
    if (http.rateLimitPerKey > 0 && rates.take(principal.keyId, http.rateLimitPerKey, clock.monotonic()) > 0)
      return null;
    if (!uploads.hold(holderOf(principal), bytes)) {
      this.#takeBack(principal);
      return null;
    }
    held.principal = principal;
    held.isOver = false;
    connections.begin(held, held);
    return held;
  }

  /** The request is counted when the ordinary code answers it. */
  #takeBack(principal: Principal): void {
    if (this.#parts.config().http.rateLimitPerKey > 0) this.#parts.rates.giveBack(principal.keyId);
  }

  #dispatch(job: AskedJob, principal: Principal, held: HeldConnection, at: number): void {
    const { uploads, metrics, logger } = this.#parts;
    const end = (): void => {
      uploads.letGo(holderOf(principal), job.bytes);
      held.isOver = true;
    };
    this.#make(job, principal).then(
      (view) => {
        end();
        if (view === null) {
          this.#takeBack(principal);
          this.#return(job);
          return;
        }
        this.#answers.made(job.connection, view);
        metrics.frontDispatched('made');
        metrics.requested(dispatchJob.method, dispatchJob.path, 201, performance.now() - at);
      },
      (error: unknown) => {
        end();
        // These promise that there is no such job.
        if (error instanceof CoordinatorError) {
          this.#takeBack(principal);
          this.#return(job);
          return;
        }
        logger.error({ err: error, route: dispatchJob.path }, 'internal error');
        this.#answers.cut(job.connection);
        metrics.frontDispatched('cut');
      },
    );
  }

  #return({ connection }: AskedJob): void {
    this.#answers.returned(connection);
    this.#parts.metrics.frontDispatched('returned');
  }

  /** @returns null when the idempotency key stands for a job that is there already. */
  async #make({ request, idempotencyKey }: AskedJob, principal: Principal): Promise<JobView | null> {
    const { coordinator } = this.#parts;
    if (idempotencyKey === null) return coordinator.dispatch(request, principal);
    const key = parseIdempotencyKey({ 'idempotency-key': idempotencyKey }, principal);
    if (key === null) return coordinator.dispatch(request, principal);
    const { view, isNew } = await coordinator.dispatchOnce(key, request, principal);
    return isNew ? view : null;
  }
}
