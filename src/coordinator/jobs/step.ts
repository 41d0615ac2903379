import type { JobEvent } from '../../../machines/events.ts';
import type { JobEffect } from '../../../machines/jobMachine.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { JobChange } from '../../store/store.ts';
import type { Committed } from '../core/index.ts';

/** One event accepted by one job, not yet durable. */
export interface Step {
  before: JobRecord | null;
  event: JobEvent | null;
  change: JobChange;
  effects: JobEffect[];
}

export type Applied =
  | ({ kind: 'applied' } & Committed)
  /** No event was one that the present state accepts. */
  | { kind: 'refused'; job: JobRecord }
  | { kind: 'unknown' };
