/** Why the service ended a WebSocket or an event stream: a close code, or its client read nothing. */
export type EndReason = number | 'unread';

/**
 * Why a body was refused or cut: it can never fit, the share of its key, the memory for all; it was too slow, or
 * stalled.
 */
export type BodyRefusal = 'size' | 'share' | 'all' | 'slow' | 'stalled';

/**
 * Why the service ended a connection: another one needed its place, its client pipelined too many requests, it read an
 * answer so slowly that others had no memory for theirs, or its key is no longer valid.
 */
export type ConnectionEnd = 'room' | 'pipelined' | 'slow' | 'key';

/** Called whenever a bound is reached, so that a flood is visible from outside. */
export interface BoundFigures {
  /** A connection beyond the maximum was closed. */
  connectionRefused(): void;
  /** A connection was cut because its client read nothing of its answer. */
  connectionUnread(): void;
  /** A connection was ended, or the request running on it. */
  connectionEnded(reason: ConnectionEnd): void;
  /** A request was not HTTP, had too large a head, or was too late. @param status of the answer. */
  requestBroken(status: number): void;
  /** There was no memory for the body of a request, or it was cut. */
  bodyRefused(reason: BodyRefusal): void;
  /** A key or ticket was refused. @param isLimited its address has exceeded its rate. */
  keyRefused(isLimited: boolean): void;
  /** The maximum of live subscribers was reached. */
  subscriberRefused(): void;
  /** A connection of a worker or a live subscriber was ended. */
  socketEnded(kind: 'worker' | 'live', reason: EndReason): void;
  /** The service stopped reading from a worker for the rest of a second. */
  workerSlowed(): void;
  /** The service stopped reading from a worker until there is memory for the rest of its frame. */
  workerHeld(): void;
}

/** Counts nothing. */
export const noFigures: BoundFigures = {
  connectionRefused() {},
  connectionUnread() {},
  connectionEnded() {},
  requestBroken() {},
  bodyRefused() {},
  keyRefused() {},
  subscriberRefused() {},
  socketEnded() {},
  workerSlowed() {},
  workerHeld() {},
};
