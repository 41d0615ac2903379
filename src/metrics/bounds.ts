import { Counter, Gauge, type Registry } from 'prom-client';
import type { ErrorCode } from '../domain/errors.ts';
import type { BodyRefusal, BoundFigures, ConnectionEnd, EndReason } from '../lib/boundFigures.ts';

/** Read at a scrape. */
export interface BoundLevels {
  connections(): number;
  subscribers(): number;
  /** Bytes of request bodies being read or parsed. */
  bodyBytes(): number;
  /** Bytes of answers and live events waiting for their readers. */
  answerBytes(): number;
  /** Unread bytes of live subscribers. */
  unsentBytes(): number;
  /** Kept output of running attempts for late viewers, characters. */
  outputSize(): number;
  /** Bytes of events kept for subscribers that reconnect. */
  keptBytes(): number;
  /** Issued and unused tickets. */
  tickets(): number;
  /** Files that clients have uploaded and batches written. */
  files(): number;
  /** Their bytes, with those of uploads under way. */
  fileBytes(): number;
}

/** The levels of everything that is bounded, and what was refused or ended at the bounds. */
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

  // Over 60 lines: one entry for each metric.
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
    gauge('svc_connections', 'TCP connections, including those of workers and dashboards.', (levels) =>
      levels.connections(),
    );
    gauge('svc_live_subscribers', 'Connected dashboards and event streams.', (levels) =>
      levels.subscribers(),
    );
    gauge('svc_body_bytes', 'Bytes of request bodies being read or parsed.', (levels) => levels.bodyBytes());
    gauge('svc_answer_bytes', 'Large answers and live events waiting for their readers.', (levels) =>
      levels.answerBytes(),
    );
    gauge('svc_live_unsent_bytes', 'Unread bytes of live subscribers.', (levels) => levels.unsentBytes());
    gauge('svc_live_output_characters', 'Kept output of running attempts.', (levels) => levels.outputSize());
    gauge('svc_live_remembered_bytes', 'Events kept for subscribers that reconnect.', (levels) =>
      levels.keptBytes(),
    );
    gauge('svc_tickets', 'Issued and unused tickets.', (levels) => levels.tickets());
    gauge('svc_files', 'Uploaded files and outputs of batches.', (levels) => levels.files());
    gauge('svc_file_bytes', 'Bytes of files on disk, uploads under way included.', (levels) =>
      levels.fileBytes(),
    );
    this.#requests = counter('svc_requests_refused_total', 'Requests answered with a problem.', ['code']);
    this.#connectionsRefused = counter(
      'svc_connections_refused_total',
      'Connections closed at once because the maximum was reached.',
    );
    this.#connectionsUnread = counter(
      'svc_connections_unread_total',
      'Connections cut because their client read nothing of an answer.',
    );
    this.#connectionsEnded = counter(
      'svc_connections_ended_total',
      'Connections ended, or the request running on them: for room, too much pipelining, slow reading, or an invalid key.',
      ['reason'],
    );
    this.#broken = counter(
      'svc_requests_broken_total',
      'Requests that were not HTTP, had too large a head, or were too late, by answer.',
      ['status'],
    );
    this.#bodies = counter('svc_bodies_refused_total', 'Request bodies refused or cut, by reason.', [
      'reason',
    ]);
    this.#keys = counter('svc_keys_refused_total', 'Refused keys and tickets, by answer.', ['status']);
    this.#subscribers = counter(
      'svc_live_subscribers_refused_total',
      'Subscribers refused because the maximum was reached.',
    );
    this.#sockets = counter(
      'svc_sockets_ended_total',
      'Sockets of workers and live subscribers ended by the service, by close code.',
      ['kind', 'reason'],
    );
    this.#slowed = counter(
      'svc_worker_slowed_total',
      'Times that reading from a worker paused for the rest of a second because of too many frames or bytes.',
    );
    this.#held = counter(
      'svc_worker_held_total',
      'Times that reading from a worker paused until there was memory for the rest of a large frame.',
    );
  }

  /** Read the levels from this source. */
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
