import type { WireQueue } from './queue.ts';

/** The name of the key that paused or resumed the queue, or its id when it has none; null when no key did. */
function queueActorText({ by }: Pick<WireQueue, 'by'>): string | null {
  return by === null ? null : (by.name ?? by.key_id);
}

/** `The queue is paused by ada: new prices`. */
export function pausedQueueText(queue: Pick<WireQueue, 'by' | 'reason'>): string {
  const who = queueActorText(queue);
  const by = who === null ? '' : ` by ${who}`;
  return `The queue is paused${by}${queue.reason === null ? '' : `: ${queue.reason}`}`;
}
