/*
 * The recent ends of a provider's attempts, by which its circuit breaker decides. Plain JSON that is never changed: adding an
 * end makes a new window that shares nearly all of the old one, so that it costs the same however many ends there are.
 */

/** How one attempt ended. */
export interface AttemptEnd {
  /** Monotonic ms. */
  at: number;
  failed: boolean;
  workerId: string;
}

/** Ends of attempts, oldest first, and how many they are. */
export interface AttemptWindow {
  /** Full parts, oldest first. */
  parts: readonly (readonly AttemptEnd[])[];
  /** Ends of the first part that have left the window. */
  left: number;
  /** The newest ends, fewer than a full part. */
  newest: readonly AttemptEnd[];
  attempts: number;
  failed: number;
}

/** Ends that a window has at most; beyond that the oldest leave, however long the window is. */
export const windowSizeMax = 1_000;
/** So that a window of the most ends has about as many parts as a part has ends: each is copied when it grows. */
const partSize = 32;

/** A window without ends. */
export const emptyWindow: AttemptWindow = { parts: [], left: 0, newest: [], attempts: 0, failed: 0 };

/** The window with one more end, without those that are `windowMs` older than it or too many. */
export function withEnd(window: AttemptWindow, end: AttemptEnd, windowMs: number): AttemptWindow {
  const newest = [...window.newest, end];
  const isFull = newest.length === partSize;
  const next: AttemptWindow = {
    parts: isFull ? [...window.parts, newest] : window.parts,
    left: window.left,
    newest: isFull ? [] : newest,
    attempts: window.attempts + 1,
    failed: window.failed + (end.failed ? 1 : 0),
  };
  const oldest = next.parts[0]?.[next.left] ?? next.newest[0];
  const isTrimmed = next.attempts > windowSizeMax || (oldest !== undefined && oldest.at <= end.at - windowMs);
  return isTrimmed ? trimmed(next, end.at - windowMs) : next;
}

/** The window without ends until `time`, monotonic ms, and with no more than it may have. */
function trimmed({ parts, left, newest, attempts, failed }: AttemptWindow, time: number): AttemptWindow {
  let part = 0;
  let place = left;
  let leaving = 0;
  let leavingFailed = 0;
  for (;;) {
    const ends = parts[part] ?? newest;
    const end = ends[place];
    if (end === undefined || (end.at > time && attempts - leaving <= windowSizeMax)) break;
    leaving += 1;
    leavingFailed += end.failed ? 1 : 0;
    place += 1;
    if (part < parts.length && place === ends.length) {
      part += 1;
      place = 0;
    }
  }
  const isInNewest = part === parts.length;
  return {
    parts: parts.slice(part),
    left: isInNewest ? 0 : place,
    newest: isInNewest ? newest.slice(place) : newest,
    attempts: attempts - leaving,
    failed: failed - leavingFailed,
  };
}

/** All ends of a window, oldest first. */
export function endsOf({ parts, left, newest }: AttemptWindow): AttemptEnd[] {
  return [...parts.flat().slice(left), ...newest];
}
