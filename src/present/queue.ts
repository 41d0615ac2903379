import type { QueueState } from '../domain/queue.ts';
import { iso } from '../domain/wire/iso.ts';
import type { WireQueue } from '../domain/wire/queue.ts';

/** The state of the queue for the API. */
export function presentQueue({ paused, since, by, reason }: QueueState): WireQueue {
  return {
    paused,
    since: iso(since),
    by: by === null ? null : { key_id: by.keyId, name: by.name },
    reason,
  };
}
