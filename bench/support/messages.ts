/** What the bench and a process under test say to each other over IPC. */

export type Order = { type: 'measure' } | { type: 'report' };

export type Reply = { type: 'ready'; url: string } | { type: 'measuring' } | ({ type: 'report' } & Sample);

/** What a process under test has spent since it was told to measure. */
export interface Sample {
  /** Processor time of its main thread, ms: what the event loop has cost, whatever else the machine was busy with. */
  mainMs: number;
  /** Processor time of all its threads, ms. */
  cpuMs: number;
  /** Delay of the event loop, ms; the millisecond of the sampling timer is part of it. */
  delayMs: { p50: number; p99: number; p999: number; max: number };
  rssBytes: number;
}

/** Where a process of the bench reads what it is to do, apart from SVC_API_KEY. */
export const setupVariable = 'SVC_BENCH_SETUP';

/** Jobs for the seeder to put into a new data folder. */
export interface Seed {
  dataDir: string;
  /** Pending jobs, by the provider they ask for. */
  pending: Record<string, number>;
  /** Jobs that have run and completed. */
  completed: number;
  /** Of the pending ones: how many, the last, are only in the journal and not in the checkpoint. */
  afterCheckpoint: number;
  promptBytes: number;
}

/** What a process of subscribers is to do. */
export interface Subscribers {
  /** Of the coordinator. */
  url: string;
  count: number;
  topic: string;
}
