import type { Clock, Random } from '../domain/clock.ts';
import type { WorkerKind } from '../domain/worker.ts';
import type { Logger } from '../lib/log.ts';
import type { Dial } from './dial.ts';
import type { Provider } from './provider.ts';

export interface WorkerOptions {
  /** Unique among live workers. */
  name: string;
  kind: WorkerKind;
  /** http, https, ws or wss; the worker dials its `/ws/worker`. */
  coordinatorUrl: string;
  /** Read at every connection attempt. */
  apiKey: () => string;
  providers: readonly Provider[];
  /** Slots; 0 takes no work. */
  concurrency: number;
  tags?: readonly string[];
  version?: string;
  host?: string;
  /** A UUID per worker process: the coordinator lets the same one take over its older connection. Default: a new one. */
  instance?: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  /**
   * Stop running jobs when no heartbeat was answered for so long; the coordinator's reap time. 0: never. Default 120.
   */
  staleSeconds?: number;
  /** Connects to the coordinator; over the network by default. */
  dial?: Dial;
}

/** The settings of a worker that can change while it runs. */
export type Offer = Pick<WorkerOptions, 'kind' | 'providers' | 'concurrency' | 'tags' | 'staleSeconds'>;

/** What a drain left behind. */
export interface DrainResult {
  /** Outcomes that the coordinator has not acknowledged; 0 when all went well. */
  undelivered: number;
}
