import type { Worked } from '../support/messages.ts';
import type { ServerProcess } from '../support/processes.ts';
import type { Bench } from '../support/scenario.ts';

/** One of those that are compared. */
export interface Contender {
  name: string;
  /** What an acknowledged job has behind it. */
  promise: string;
  /** Whom the targets are against. */
  isTarget: boolean;
  /** Everything of it, started and empty. */
  open(bench: Bench): Promise<Station>;
}

/** A contender that runs: an HTTP app with the coordinator's middleware, and what keeps its jobs. */
export interface Station {
  app: ServerProcess;
  /** Put this many pending jobs into it, in bulk. */
  fill(jobs: number, promptBytes: number): Promise<void>;
  /** A worker in a process of its own, with the contender's own library. It takes no job before it is asked to. */
  startWorker(concurrency: number): Promise<StationWorker>;
  /** Take jobs in the bench's own process, so that one clock says when. @param onStart with the input of each job. */
  pickUp(onStart: (input: string | null) => void): Promise<() => Promise<void>>;
  /** What keeps the jobs: its memory and its folder's size, bytes. */
  memory(): number;
  disk(): number;
  /** Kill what keeps the jobs and start it again. @returns ms until it answers. */
  restart(): Promise<number>;
  /** Processor time of all its processes so far, ms. Of processes that are gone it knows nothing. */
  cpuMs(): number;
  stop(): Promise<void>;
}

export interface StationWorker {
  /**
   * Tell when `jobs` more are done.
   * @returns when it has begun to count, which is when jobs may come; the inner promise when they are done.
   */
  work(jobs: number): Promise<{ worked: Promise<Worked> }>;
  /** Processor time so far, ms. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** Concurrencies to find each one's best among. */
export const concurrencies = [10, 50, 200] as const;
