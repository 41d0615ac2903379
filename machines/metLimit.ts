/*
 * How many requests at once a provider takes before it answers 429, learnt from its answers: what TCP remembers of a
 * connection as its slow start threshold. Pure; plain JSON.
 */

/** Where limits were met. */
export interface MetLimit {
  /** Requests that were under way beside those that met it. */
  atOnce: number;
  /** Limits in a row that were met with about as many. */
  times: number;
  /** Requests that are to get through before one more than `atOnce` is tried; 0 unless `isConfirmed`. */
  heldFor: number;
}

/** Limits that are met with numbers this close are one: below eight, with the same number. */
const sameShare = 1 / 8;
/**
 * Times that each of the requests at once gets through before one more is tried. Twice as many after each limit that is met
 * there again, up to 32: a try costs some three rounds, of the wait, a probe and what the others have left of their time. A
 * provider that has become faster is to be found out, so it does not go on for ever.
 */
const roundsFirst = 8;
const doublingsMax = 2;

/** What is known after a limit that was met with so many others under way. */
export function metAgain(known: MetLimit | null, others: number): MetLimit {
  const atOnce = Math.max(1, others);
  const isSame = known !== null && Math.abs(atOnce - known.atOnce) <= known.atOnce * sameShare;
  if (!isSame) return { atOnce, times: 1, heldFor: 0 };
  const most = Math.max(atOnce, known.atOnce);
  const times = known.times + 1;
  return { atOnce: most, times, heldFor: most * roundsFirst * 2 ** Math.min(times - 2, doublingsMax) };
}

/**
 * Whether it is the number of requests at once that this provider limits. One limit says nothing: one by rate is met with
 * any number under way, and rarely twice in a row with the same.
 */
export function isConfirmed(known: MetLimit | null): known is MetLimit {
  return known !== null && known.times > 1;
}

/** Whether so many requests at once are as many as are known to get through, and no more are to be tried yet. */
export function isHeldAt(known: MetLimit | null, atOnce: number): known is MetLimit {
  return isConfirmed(known) && known.heldFor > 0 && atOnce >= known.atOnce;
}
