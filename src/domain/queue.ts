/** The key that paused or resumed the queue. */
export interface QueueActor {
  keyId: string;
  /** Of the key; null when it has none. */
  name: string | null;
}

/** Whether ready jobs are assigned, and who decided that last. Stored in this form. */
export interface QueueState {
  paused: boolean;
  /** Epoch ms of the last pause or resume; null before the first one. */
  since: number | null;
  /** The key that did it; null before the first one, and without a key. */
  by: QueueActor | null;
  /** Of a pause; null when none was given. */
  reason: string | null;
}

/** Characters of a reason at most. */
export const queueReasonMax = 500;

/** A queue that was never paused. */
export const untouchedQueue: QueueState = Object.freeze({
  paused: false,
  since: null,
  by: null,
  reason: null,
});
