/** Why a WebSocket or an event stream was ended by the service: a close code, or that nothing of it was read. */
export type EndReason = number | 'unread';

/** Why a body was refused or cut: it fits at no time, the share of its key, the memory for all; it came too slowly, or stalled. */
export type BodyRefusal = 'size' | 'share' | 'all' | 'slow' | 'stalled';

/**
 * Why a connection was ended by the service: another one needed its place, its client sent too many requests ahead of
 * their answers, it read an answer so slowly that others had no room for theirs, or its key has ended.
 */
export type ConnectionEnd = 'room' | 'pipelined' | 'slow' | 'key';

/** Told whenever a bound was reached, so that a flood can be seen from outside. */
export interface BoundFigures {
  /** A connection too many was closed. */
  connectionRefused(): void;
  /** A connection was cut whose client read nothing of its answer. */
  connectionUnread(): void;
  /** A connection was ended, or what was under way on it. */
  connectionEnded(reason: ConnectionEnd): void;
  /** A request was no HTTP, had too large a head, or was not there in time. @param status that it was answered with. */
  requestBroken(status: number): void;
  /** The body of a request found no room, or lost it. */
  bodyRefused(reason: BodyRefusal): void;
  /** A key or ticket was refused. @param isLimited its address had used up what it may. */
  keyRefused(isLimited: boolean): void;
  /** There were as many live subscribers as may be. */
  subscriberRefused(): void;
  /** A connection of a worker or a live subscriber was ended. */
  socketEnded(kind: 'worker' | 'live', reason: EndReason): void;
  /** Nothing is read of a worker for the rest of a second. */
  workerSlowed(): void;
  /** Nothing is read of a worker until there is memory for the rest of its frame. */
  workerHeld(): void;
}

/** Where nobody counts. */
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
