import type { ErrorClass } from './failure.ts';
import type { Message, ToolCall } from './job.ts';
import type { WireUsage } from './usage.ts';
import type { WorkerKind } from './worker.ts';

/** The frames of `/ws/worker`, as they stand on the wire: one JSON object a text frame. See docs/worker-protocol.md. */

export const workerSubprotocol = 'svc.worker.v1';
/** Largest frame either side takes, bytes. */
export const frameBytesMax = 16 * 1024 * 1024;
/** Largest hello, characters. */
export const helloLengthMax = 2 * 1024 * 1024;
/** Levels of nesting in a frame; the usage as a provider tells it, which goes deepest, has some five. */
export const frameDepthMax = 100;
/** Lists, objects and commas in a frame of a worker; a hello that lists `leasesMax` leases has 60,000. */
export const frameMembersMax = 100_000;
/** Characters of a frame outside of its strings. */
export const framePlainMax = 1024 * 1024;
/** Largest output of a job, bytes of UTF-8; calls of tools count too. Half a frame: the other half is for what JSON escapes. */
export const outputBytesMax = 8 * 1024 * 1024;
/** Piece of output that is shown while it is made, characters. */
export const chunkLengthMax = 256 * 1024;
/** Providers of a worker. */
export const providersMax = 100;
/** Tags of a worker. */
export const tagsMax = 100;
/** Models of a worker, of all its providers together, and the characters of their names. */
export const modelsMax = 2_000;
export const modelsLengthMax = 128 * 1024;
/** Leases that a worker lists: twice the most that it can have, for outcomes that are not acknowledged yet. */
export const leasesMax = 20_000;
/** Calls of tools in one answer. */
export const toolCallsMax = 1000;
/** Message of a failure, characters; what is longer is cut. */
export const messageLengthMax = 8192;
/** Of a failure, as HTTP has them. */
export const statusMax = 999;

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
  /** Those of `providers` that run on machines of one's own, and charge nothing. */
  free?: string[] | undefined;
}

export interface HeartbeatFrame {
  type: 'heartbeat';
  running: WireLease[];
  models?: Record<string, string[]> | undefined;
}

export interface ChunkFrame extends WireLease {
  type: 'chunk';
  seq: number;
  text: string;
}

export interface WireResult {
  output: string;
  /** What the model wants to have called; whoever asked calls it, and asks again with the answer. */
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
  /** The provider had begun to answer: it may charge for that, whatever the class says. */
  begun?: boolean | undefined;
  /** What the provider ran, or was asked to run. */
  model?: string | null | undefined;
}

export interface AbortedFrame extends WireLease {
  type: 'aborted';
  usage?: Partial<WireUsage> | undefined;
  /** What the provider ran, or was asked to run. */
  model?: string | null | undefined;
}

export interface ReleaseFrame extends WireLease {
  type: 'release';
  /** The provider had been asked: it may charge for that. */
  begun?: boolean | undefined;
}

export interface DrainFrame {
  type: 'drain';
}

/** Everything a worker may say. */
export type WorkerFrame =
  | HelloFrame
  | HeartbeatFrame
  | ChunkFrame
  | CompleteFrame
  | FailFrame
  | AbortedFrame
  | ReleaseFrame
  | DrainFrame;

export interface WelcomeFrame {
  type: 'welcome';
  worker_id: string;
  paused: boolean;
  concurrency: number;
  heartbeat_interval_seconds: number;
  server_time: string;
  lost: WireLease[];
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

export interface HeartbeatAckFrame {
  type: 'heartbeat_ack';
  lost: WireLease[];
}

export interface SettingsFrame {
  type: 'settings';
  paused?: boolean | undefined;
  concurrency?: number | undefined;
}

/** Why a hello is refused, beside what is wrong with its form. */
export const refusalCodes = {
  /** The name belongs to another key, also while its worker is away. */
  nameTakenByKey: 'name_taken_by_key',
  /** The key is bound to other names, tags or providers. */
  keyNotAllowed: 'key_not_allowed',
} as const;

export interface ErrorFrame {
  type: 'error';
  code: string;
  message: string;
}

/** Everything the coordinator may say. */
export type CoordinatorFrame =
  | WelcomeFrame
  | AssignFrame
  | AbortFrame
  | AckFrame
  | HeartbeatAckFrame
  | SettingsFrame
  | ErrorFrame;

/** What counts as the output of a job: its text, and the arguments of the calls that the model wants. */
export function outputTexts(output: string, calls: readonly ToolCall[] = []): string[] {
  return [output, ...calls.map((call) => call.function.arguments)];
}
