import { Counter, Gauge, type Registry } from 'prom-client';
import type { ErrorCode } from '../domain/errors.ts';
import type { BodyRefusal, BoundFigures, ConnectionEnd, EndReason } from '../lib/boundFigures.ts';

/** What is asked at a scrape. */
export interface BoundLevels {
  connections(): number;
  subscribers(): number;
  /** Bytes of request bodies that are being read or parsed. */
  bodyBytes(): number;
  /** Bytes of answers and live events that wait for their readers. */
  answerBytes(): number;
  /** Bytes for live subscribers that nobody has taken yet. */
  unsentBytes(): number;
  /** Characters of running attempts that are remembered for late viewers. */
  outputSize(): number;
  /** Bytes of events that are remembered for subscribers who come back. */
  rememberedBytes(): number;
  /** Tickets that were issued and have not been used. */
  tickets(): number;
}

/** How near everything that is bounded is to its bound, and what was refused or ended at it. */
export class BoundMetrics implements BoundFigures {
  readonly #requests;
  readonly #connectionsRefused;
  readonly #connectionsUnread;
  readonly #connectionsEnded;
  readonly #broken;
  readonly #bodies;
  readonly #keys;
  readonly #subscribers;
  readonly #sockets;
  readonly #slowed;
  readonly #held;
  #levels: BoundLevels | null = null;

  constructor(registry: Registry) {
    const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
      new Counter({ name, help, labelNames, registers: [registry] });
    const gauge = (name: string, help: string, read: (levels: BoundLevels) => number) => {
      const level = () => (this.#levels === null ? 0 : read(this.#levels));
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(level());
        },
      });
    };
    gauge('svc_connections', 'TCP connections, those of workers and dashboards with them.', (levels) =>
      levels.connections(),
    );
    gauge('svc_live_subscribers', 'Dashboards and event streams that listen.', (levels) =>
      levels.subscribers(),
    );
    gauge('svc_body_bytes', 'Bytes of request bodies that are being read or parsed.', (levels) =>
      levels.bodyBytes(),
    );
    gauge('svc_answer_bytes', 'Large answers and live events that wait for their readers.', (levels) =>
      levels.answerBytes(),
    );
    gauge('svc_live_unsent_bytes', 'Bytes that live subscribers have not taken yet.', (levels) =>
      levels.unsentBytes(),
    );
    gauge('svc_live_output_characters', 'Output of running attempts that is remembered.', (levels) =>
      levels.outputSize(),
    );
    gauge(
      'svc_live_remembered_bytes',
      'Events that are remembered for subscribers who come back.',
      (levels) => levels.rememberedBytes(),
    );
    gauge('svc_tickets', 'Tickets that were issued and have not been used.', (levels) => levels.tickets());
    this.#requests = counter('svc_requests_refused_total', 'Requests answered with a problem.', ['code']);
    this.#connectionsRefused = counter(
      'svc_connections_refused_total',
      'Connections closed at once, since there were as many as may be.',
    );
    this.#connectionsUnread = counter(
      'svc_connections_unread_total',
      'Connections cut, since their client read nothing of an answer.',
    );
    this.#connectionsEnded = counter(
      'svc_connections_ended_total',
      'Connections that were ended, or what was under way on them: for room, requests ahead of their answers, slow reading, or a key that ended.',
      ['reason'],
    );
    this.#broken = counter(
      'svc_requests_broken_total',
      'Requests that were no HTTP, had too large a head, or were not there in time, by answer.',
      ['status'],
    );
    this.#bodies = counter(
      'svc_bodies_refused_total',
      'Bodies of requests that found no room or lost it, by reason.',
      ['reason'],
    );
    this.#keys = counter('svc_keys_refused_total', 'Keys and tickets that were refused, by answer.', [
      'status',
    ]);
    this.#subscribers = counter(
      'svc_live_subscribers_refused_total',
      'Subscribers refused, since there were as many as may be.',
    );
    this.#sockets = counter(
      'svc_sockets_ended_total',
      'Sockets of workers and of live subscribers that were ended, by close code.',
      ['kind', 'reason'],
    );
    this.#slowed = counter(
      'svc_worker_slowed_total',
      'Times that a worker sent so many frames, or bytes, that it was not read for the rest of a second.',
    );
    this.#held = counter(
      'svc_worker_held_total',
      'Times that nothing was read of a worker until there was memory for the rest of a large frame.',
    );
  }

  /** From now on these are the levels. */
  watch(levels: BoundLevels): void {
    this.#levels = levels;
  }

  requestRefused(code: ErrorCode): void {
    this.#requests.labels(code).inc();
  }

  connectionRefused(): void {
    this.#connectionsRefused.inc();
  }

  connectionUnread(): void {
    this.#connectionsUnread.inc();
  }

  connectionEnded(reason: ConnectionEnd): void {
    this.#connectionsEnded.labels(reason).inc();
  }

  requestBroken(status: number): void {
    this.#broken.labels(String(status)).inc();
  }

  bodyRefused(reason: BodyRefusal): void {
    this.#bodies.labels(reason).inc();
  }

  keyRefused(isLimited: boolean): void {
    this.#keys.labels(isLimited ? '429' : '401').inc();
  }

  subscriberRefused(): void {
    this.#subscribers.inc();
  }

  socketEnded(kind: 'worker' | 'live', reason: EndReason): void {
    this.#sockets.labels(kind, String(reason)).inc();
  }

  workerSlowed(): void {
    this.#slowed.inc();
  }

  workerHeld(): void {
    this.#held.inc();
  }
}
