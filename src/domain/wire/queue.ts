import type { Iso } from './iso.ts';

/** Whether the queue is paused; in GET /api/stats too. */
export interface WireQueue {
  paused: boolean;
  /** Of the last pause or resume; null before the first one. */
  since: Iso | null;
  by: { key_id: string; name: string | null } | null;
  /** Of a pause; null when none was given. */
  reason: string | null;
}
