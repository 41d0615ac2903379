import type { JobRequest } from '../../../src/domain/job.ts';

export const kinds = ['bullmq', 'pgBoss', 'graphileWorker'] as const;
export type Kind = (typeof kinds)[number];

/** What every job of a peer carries, and the queue that all of them are in. */
export interface Payload {
  id: string;
  request: JobRequest;
}
export const queueName = 'bench';

/** What a worker of the bench makes of each job, at once: of the size that an echo of ours has. */
export const output = {
  output: 'This is an echo. The customer cannot sign in since the update and asks for a new link.',
  finishReason: 'stop',
  usage: { inputTokens: 64, outputTokens: 18, totalTokens: 82 },
};

export interface Watch {
  /** Told when a job's handler begins, with the input of its request. */
  onStart(input: string | null): void;
  /** Told when the peer says that the job is done. Where it says so before that is written, its adapter says that. */
  onDone(): void;
}

/** A queue of a peer, as one process sees it. */
export interface Queue {
  /** Resolves when the peer's own call does. */
  add(payload: Payload): Promise<unknown>;
  /** In bulk, the way the peer offers it. */
  addMany(payloads: readonly Payload[]): Promise<unknown>;
  /** Take jobs until the returned function is called. */
  work(concurrency: number, watch: Watch): Promise<() => Promise<void>>;
  /** What the peer's documents expect to run beside it after many changes at once: for PostgreSQL a vacuum. */
  settle(): Promise<unknown>;
  close(): Promise<void>;
}

/** @param url of the Redis or PostgreSQL server. @param isOwner makes the tables; for the first that connects. */
export type OpenQueue = (url: string, isOwner: boolean) => Promise<Queue>;

/**
 * Connect to a peer's queue. The packages of the peers are in `bench/node_modules` alone, so each adapter is loaded
 * when it is asked for: the other scenarios run, and their types hold, without them.
 */
export async function openQueue(kind: Kind, url: string, isOwner = false): Promise<Queue> {
  const { open }: { open: OpenQueue } = await import(new URL(`${kind}.ts`, import.meta.url).href);
  return open(url, isOwner);
}
