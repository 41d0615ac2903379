import type { JobState, JobStatus } from './states.ts';

/** Filters are joined by and; null or empty means no filter, see `noFilter`. */
export interface JobFilter {
  statuses: JobStatus[];
  states: JobState[];
  /** The requested provider, not the one that ran it. */
  provider: string | null;
  model: string | null;
  /** Id of the worker of the last attempt. */
  worker: string | null;
  /** Id of the key that created it. */
  createdBy: string | null;
  /** All of them. */
  tags: string[];
  priority: string | null;
  tier: string | null;
  /** Id of the run it belongs to. */
  run: string | null;
  /** Names and values that the job's metadata has, all of them. */
  metadata: (readonly [name: string, value: string])[];
  /** Epoch ms, inclusive. */
  createdAfter: number | null;
  /** Epoch ms, exclusive. */
  createdBefore: number | null;
  /** Text in prompt or id, without regard to case. */
  text: string | null;
  /** Id of a job in the lists: jobs created after it are omitted, so that pages stay stable. */
  newest: string | null;
}

/** Every job. */
export const noFilter: JobFilter = Object.freeze({
  statuses: [],
  states: [],
  provider: null,
  model: null,
  worker: null,
  createdBy: null,
  tags: [],
  priority: null,
  tier: null,
  run: null,
  metadata: [],
  createdAfter: null,
  createdBefore: null,
  text: null,
  newest: null,
});
