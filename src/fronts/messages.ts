import type { JobCreator, JobRequest } from '../domain/job.ts';
import type { Waiting } from '../domain/waiting.ts';

/* What the core and its fronts say to each other. */

/** What a front is started with. */
export interface FrontSettings {
  host: string;
  port: number;
  /** Label → seconds of head start; a job may name no other. */
  priorities: Record<string, number>;
  /** How long a connection may be quiet between two requests, ms. */
  keepAliveMs: number;
  /** Connections of one front. */
  connectionsMax: number;
}

/** Descriptor of the stream for frames, in the front. */
export const frameDescriptor = 4;

/** From the core, over the channel of the process. */
export type Order =
  | { type: 'settings'; unreadMs: number }
  /** Take no more connections, finish what is under way, and end. */
  | { type: 'stop' };

/** To the core, over the channel of the process. */
export type Report =
  | { type: 'listening' }
  | { type: 'failed'; code: string; detail: string }
  /** Comes with the connection itself. @property bytes what its client has sent already, latin1. */
  | { type: 'connection'; bytes: string };

/** Who sends a request, as the request says it. An absent header is ''. */
export interface Caller {
  authorization: string;
  host: string;
  userAgent: string;
  forwardedFor: string;
  /** Of the connection. */
  address: string;
}

/** A job that a client dispatches. A connection has one at a time. */
export interface AskedJob {
  connection: number;
  /** Place in `callers`. */
  caller: number;
  /** As it was sent; null without one. */
  idempotencyKey: string | null;
  /** Of the body. */
  bytes: number;
  request: JobRequest;
}

/** What came to a front in one turn of its event loop. */
export interface FrontTurn {
  /** Connections for which there was no room. */
  refused: number;
  /** Connections that the front no longer serves. */
  closed: number[];
  callers: Caller[];
  jobs: AskedJob[];
}

/** A job that was made. */
export interface MadeJob {
  connection: number;
  id: string;
  createdAt: number;
  updatedAt: number;
  enqueuedAt: number;
  /** Place in `creators`; null for nobody. */
  creator: number | null;
  /** Place in `waits`; null when it does not wait. */
  waiting: number | null;
}

/** What the core has decided in one turn of its event loop. */
export interface CoreTurn {
  made: MadeJob[];
  /** Jobs that were made and are no longer as new: their connection, id and JSON. */
  changed: { connection: number; id: string; text: string }[];
  creators: JobCreator[];
  waits: Waiting[];
  /** Nothing was done with their job: hand them over, and the core answers. */
  returned: number[];
  /** Break these connections off. */
  cut: number[];
}
