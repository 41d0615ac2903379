import type { Limit } from './limits.ts';

export const bulkModel = 'gpt-4o';

/** What the provider's process is told. Each client has a path of its own, and the limit for itself. */
export interface ProviderSetup {
  limit: Limit;
}

/** What the provider has seen of one client. */
export interface Tally {
  refused: number;
  /** Requests that it has taken: these cost money. */
  paid: number;
  /** Of them: how many asked what it had taken before. */
  paidAgain: number;
}

/** What a process is told that runs the prompts without SVC. */
export interface RunnerSetup {
  /** Of the provider's API, with the client's path. */
  baseUrl: string;
  prompts: number;
  concurrency: number;
  /** Tries after the first one. */
  retries: number;
  /** Of BullMQ. */
  redisUrl: string;
  /** BullMQ's own: so many jobs in a second; null: it only knows the provider's 429. */
  perSecond: number | null;
}
