/** What the bench and a process under test say to each other over IPC. */

/** `collect`: collect garbage and report what is left. `work`: report when this many more jobs are done. */
export type Order =
  | { type: 'measure' }
  | { type: 'report' }
  | { type: 'collect' }
  | { type: 'work'; jobs: number };

export type Reply =
  | { type: 'ready'; url: string }
  | { type: 'measuring' }
  | ({ type: 'report' } & Sample)
  | ({ type: 'collected' } & Kept)
  | { type: 'working' }
  | { type: 'tally'; counts: Record<string, Record<string, number>> }
  | ({ type: 'worked' } & Worked);

/** Jobs done after the first one, between two moments of `now()`. */
export interface Worked {
  jobs: number;
  firstAt: number;
  lastAt: number;
}

/** Milliseconds of a clock that all processes of a machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

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

/** What a process holds when its garbage is collected. */
export interface Kept {
  heapBytes: number;
  /** Open file descriptors: files, sockets, timers of the system. */
  descriptors: number;
}

/** Where a process of the bench reads what it is to do, apart from SVC_API_KEY. */
export const setupVariable = 'SVC_BENCH_SETUP';

/** What a coordinator is started with. */
export interface CoordinatorSetup {
  dataDir: string;
  /** null: the defaults. */
  configFile: string | null;
  /** 0: a free one. */
  port: number;
}

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
