import type { ChunkPart } from './chunkParts.ts';
import type { ErrorClass } from './failure.ts';
import type { Message, ToolCall } from './job.ts';
import type { WireUsage } from './usage.ts';
import type { WorkerKind } from './worker.ts';

/** The frames of `/ws/worker`: one JSON object a text frame. See docs/worker-protocol.md. */

export const workerSubprotocol = 'svc.worker.v1';
/** Largest frame either side accepts, bytes. */
export const frameBytesMax = 16 * 1024 * 1024;
/** Largest hello, characters. */
export const helloLengthMax = 2 * 1024 * 1024;
/** Levels of nesting in a frame; the provider's own usage, the deepest part, has some five. */
export const frameDepthMax = 100;
/** Lists, objects and commas in a frame of a worker; a hello that lists `leasesMax` leases has 60,000. */
export const frameMembersMax = 100_000;
/** Characters of a frame outside of its strings. */
export const framePlainMax = 1024 * 1024;
/** Largest output of a job, bytes of UTF-8; tool calls count too. Half a frame: the other half is for JSON escapes. */
export const outputBytesMax = 8 * 1024 * 1024;
/** Characters of an output chunk, all of its parts together. */
export const chunkLengthMax = 256 * 1024;
/** Parts of an output chunk. */
export const chunkPartsMax = 1000;
/** Providers of a worker. */
export const providersMax = 100;
/** Tags of a worker. */
export const tagsMax = 100;
/** Models of a worker over all its providers, and the characters of their names. */
export const modelsMax = 2_000;
export const modelsLengthMax = 128 * 1024;
/** Leases in a worker's list: twice the most that it can hold, for outcomes that are not acknowledged yet. */
export const leasesMax = 20_000;
/** Tool calls in one answer. */
export const toolCallsMax = 1000;
/** Message of a failure, characters; a longer one is cut. */
export const messageLengthMax = 8192;
/** Of a failure, as HTTP has them. */
export const statusMax = 999;

/** Names of `features`: what a connection does besides what every one does. */
export const features = {
  /** A chunk may have `parts` in place of `text`. */
  typedChunks: 'typed_chunks',
  /** Outcomes of one turn may share a frame `outcomes`; their acks share a frame `acks`. */
  sharedFrames: 'shared_frames',
  /** The worker takes jobs beyond its slots, begins them when one is free, and gives them back when they wait. */
  holdsAhead: 'holds_ahead',
} as const;
/** How long a worker holds a job that it has no slot for, ms; then it gives the job back. */
export const heldMsMax = 1_000;
/** Outcomes in one frame. */
export const outcomesMax = 1_000;
/** Features in a hello. */
export const featuresMax = 100;

export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  policyViolation: 1008,
  restarting: 1012,
  tryAgainLater: 1013,
  badFrame: 4400,
  keyRefused: 4401,
  keyNotAllowed: 4403,
  noHeartbeat: 4408,
  nameTaken: 4409,
} as const;

export interface WireLease {
  job_id: string;
  lease: number;
}

export interface HelloFrame {
  type: 'hello';
  name: string;
  kind: WorkerKind;
  providers: string[];
  models?: Record<string, string[]> | undefined;
  tags?: string[] | undefined;
  concurrency: number;
  version?: string | undefined;
  host?: string | undefined;
  instance?: string | undefined;
  running?: WireLease[] | undefined;
  /** The members of `providers` that run on your own machines, and charge nothing. */
  free?: string[] | undefined;
  /** What the worker can do besides; unknown ones are ignored. */
  features?: string[] | undefined;
}

export interface HeartbeatFrame {
  type: 'heartbeat';
  running: WireLease[];
  models?: Record<string, string[]> | undefined;
}

/** It has `text` or, if the welcome lists `typed_chunks`, `parts` in its place. */
export interface ChunkFrame extends WireLease {
  type: 'chunk';
  seq: number;
  text?: string | undefined;
  parts?: ChunkPart[] | undefined;
}

export interface WireResult {
  output: string;
  /** The tool calls of the model; the client runs them, and sends a new job with the results. */
  tool_calls?: ToolCall[] | undefined;
  finish_reason: string;
  model: string | null;
  usage: Partial<WireUsage>;
  raw_usage?: unknown;
  latency_ms: number;
  first_token_ms?: number | undefined;
}

export interface CompleteFrame extends WireLease {
  type: 'complete';
  result: WireResult;
}

export interface WireFailure {
  class: ErrorClass;
  message: string;
  status?: number | undefined;
  code?: string | undefined;
  retry_after_seconds?: number | undefined;
}

export interface FailFrame extends WireLease {
  type: 'fail';
  error: WireFailure;
  usage?: Partial<WireUsage> | undefined;
  /** The provider had begun to answer: it may charge for that, whatever the class. */
  begun?: boolean | undefined;
  /** The model that the provider ran, or was requested to run. */
  model?: string | null | undefined;
}

export interface AbortedFrame extends WireLease {
  type: 'aborted';
  usage?: Partial<WireUsage> | undefined;
  /** The model that the provider ran, or was requested to run. */
  model?: string | null | undefined;
}

export interface ReleaseFrame extends WireLease {
  type: 'release';
  /** The provider had received the request: it may charge for that. */
  begun?: boolean | undefined;
}

export interface DrainFrame {
  type: 'drain';
}

/** A frame that says how a lease has ended. */
export type OutcomeFrame = CompleteFrame | FailFrame | AbortedFrame | ReleaseFrame;

/** If the welcome lists `shared_frames`: several of them. Each is checked alone, so that a bad one spoils no other. */
export interface OutcomesFrame {
  type: 'outcomes';
  outcomes: unknown[];
}

/** Every frame a worker may send. */
export type WorkerFrame =
  | HelloFrame
  | HeartbeatFrame
  | ChunkFrame
  | CompleteFrame
  | FailFrame
  | AbortedFrame
  | ReleaseFrame
  | OutcomesFrame
  | DrainFrame;

export interface WelcomeFrame {
  type: 'welcome';
  worker_id: string;
  paused: boolean;
  concurrency: number;
  heartbeat_interval_seconds: number;
  server_time: string;
  lost: WireLease[];
  /** Those of the hello that hold for this connection; absent when the hello has none. */
  features?: string[] | undefined;
}

export interface Assignment extends WireLease {
  attempt: number;
  prompt: string | null;
  input: string | null;
  messages: Message[] | null;
  params: Record<string, unknown>;
  provider: string;
  model: string | null;
  /** 0: none. */
  timeout_seconds: number;
}

export interface AssignFrame {
  type: 'assign';
  jobs: Assignment[];
}

export interface AbortFrame extends WireLease {
  type: 'abort';
  reason: 'cancelled' | 'timed_out' | 'lease_lost';
}

export interface AckFrame extends WireLease {
  type: 'ack';
  accepted: boolean;
  reason?: 'lease_lost' | 'unknown_job' | 'not_yours' | undefined;
}

/** In place of an `ack` for each, if the welcome lists `shared_frames`. */
export interface AcksFrame {
  type: 'acks';
  acks: Omit<AckFrame, 'type'>[];
}

/** Why the word of a worker on a lease was not accepted. */
export type AckReason = NonNullable<AckFrame['reason']>;

export interface HeartbeatAckFrame {
  type: 'heartbeat_ack';
  lost: WireLease[];
}

/** Give back what has not begun, if the welcome lists `holds_ahead`. */
export interface RecallFrame {
  type: 'recall';
}

export interface SettingsFrame {
  type: 'settings';
  paused?: boolean | undefined;
  concurrency?: number | undefined;
}

/** Why a hello is refused, besides an invalid form. */
export const refusalCodes = {
  /** The name belongs to another key, even while its worker is away. */
  nameTakenByKey: 'name_taken_by_key',
  /** The key is bound to other names, tags or providers. */
  keyNotAllowed: 'key_not_allowed',
} as const;

export interface ErrorFrame {
  type: 'error';
  code: string;
  message: string;
}

/** Every frame the coordinator may send. */
export type CoordinatorFrame =
  | WelcomeFrame
  | AssignFrame
  | AbortFrame
  | AckFrame
  | AcksFrame
  | HeartbeatAckFrame
  | SettingsFrame
  | RecallFrame
  | ErrorFrame;

/** The parts of a job's output: its text, and the arguments of the tool calls. */
export function outputTexts(output: string, calls: readonly ToolCall[] = []): string[] {
  return [output, ...calls.map((call) => call.function.arguments)];
}
