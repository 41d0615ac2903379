/** The key that paused or resumed the queue. */
export interface QueueActor {
  keyId: string;
  /** Of the key; null when it has none. */
  name: string | null;
}

/** Whether ready jobs are handed out, and who decided that last. It is stored as it is here. */
export interface QueueState {
  paused: boolean;
  /** Epoch ms of the last pause or resume; null before the first one. */
  since: number | null;
  /** Who did that; null before the first one, and when nobody with a key did it. */
  by: QueueActor | null;
  /** Of a pause, for people; null when none was given. */
  reason: string | null;
}

/** Characters of a reason at most. */
export const queueReasonMax = 500;

/** A queue that nobody has paused yet. */
export const untouchedQueue: QueueState = Object.freeze({
  paused: false,
  since: null,
  by: null,
  reason: null,
});
