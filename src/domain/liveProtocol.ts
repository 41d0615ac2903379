import type { ChunkPart } from './chunkParts.ts';
import { type Role, roleMay } from './key.ts';
import type { JobStatus } from './states.ts';
import type { WireJob } from './wire/job.ts';

/** The frames of `/ws`, and of the event streams. See docs/live-events.md. */

export const liveSubprotocol = 'svc.v1';
/** A ticket is offered as one more subprotocol, `ticket.<t>`, which the server never selects. */
export const ticketPrefix = 'ticket.';
/** Largest frame a client may send, bytes. */
export const clientFrameBytesMax = 64 * 1024;

export const plainTopics = [
  'stats',
  'jobs',
  'runs',
  'workers',
  'providers',
  'queue',
  'machines',
  'inspect',
] as const;
export type Topic = (typeof plainTopics)[number] | `job:${string}`;

/** Longest job id in a topic. */
const jobIdLengthMax = 100;
const jobPrefix = 'job:' as const;

/** @returns null when there is no such topic; does not check whether the job exists. */
export function parseTopic(text: string): Topic | null {
  const plain = plainTopics.find((topic) => topic === text);
  if (plain !== undefined) return plain;
  const id = jobOfTopic(text);
  return id !== null && id !== '' && id.length <= jobIdLengthMax ? topicOfJob(id) : null;
}

/** Whether a role may subscribe to a topic: only operators of the coordinator see actors in detail. */
export function maySubscribe(role: Role, topic: Topic): boolean {
  return roleMay(role, topic === 'inspect' ? 'admin' : 'viewer');
}

/** The id in `job:<id>`; null for every other topic. */
export function jobOfTopic(topic: string): string | null {
  return topic.startsWith(jobPrefix) ? topic.slice(jobPrefix.length) : null;
}

export function topicOfJob(id: string): Topic {
  return `${jobPrefix}${id}`;
}

/** Every frame a client may send. */
export type LiveClientFrame =
  | { type: 'subscribe'; topics: Topic[]; since?: number | undefined; epoch?: string | undefined }
  | { type: 'unsubscribe'; topics: Topic[] }
  | { type: 'ping' };

export interface LiveHello {
  type: 'hello';
  server_time: string;
  role: string;
  /** Of the latest event. */
  seq: number;
  /** New at each start of the coordinator. */
  epoch: string;
}

export interface LiveSnapshot {
  type: 'snapshot';
  topic: Topic;
  /** Every event up to this one is in it. */
  seq: number;
  /** Events before it were lost. */
  gap?: true;
  data: unknown;
}

export interface LivePong {
  type: 'pong';
  server_time: string;
}

/** A refused frame of the client; its subscriptions remain. */
export interface LiveError {
  type: 'error';
  code: string;
  message: string;
}

/** Snapshot of `jobs`. */
export interface JobsSnapshot {
  counts: Record<JobStatus, number>;
  /** Newest first, as in lists. */
  latest: WireJob[];
}

/** Snapshot of `job:<id>`. */
export interface JobSnapshot {
  job: WireJob;
  /** The output of the running attempt so far; null when none is known. */
  output: JobOutput | null;
}

export interface JobOutput {
  lease: number;
  /** Of the last chunk in `text`. */
  seq: number;
  text: string;
  /** Whether the beginning is missing. */
  truncated: boolean;
  /** All of it in order, text too; absent when there is only text. */
  parts?: readonly ChunkPart[];
}

/** Data of `job.progress`. `seq` counts the chunks of the lease. */
export interface JobProgress {
  id: string;
  lease: number;
  seq: number;
  text: string;
  /** All of it in order, text too; absent when there is only text. */
  parts?: readonly ChunkPart[];
}

/** Data of `transition`. */
export interface WireTransition {
  machine: string;
  actor_id: string;
  from: string | null;
  to: string;
  event: string;
}
