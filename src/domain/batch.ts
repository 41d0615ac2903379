/** A batch: a run whose lines come from one file, and whose answers are written to two. */

import type { NanoDollars } from './money.ts';
import type { BatchStatus } from './states.ts';
import type { NamedWebhook } from './webhook.ts';

/** Lines of a batch. */
export const batchLinesMax = 50_000;
/** Faults of a file that are listed; a file with one of them is refused whole. */
export const batchFaultsMax = 100;

/** What was asked for. */
export interface BatchRequest extends NamedWebhook {
  /** The path that each line asks for: it decides how lines are read and answers written. */
  endpoint: string;
  inputFileId: string;
  /** As the client wrote it: `24h`. */
  window: string;
  /** Epoch ms: what has not started by then does not start any more. */
  expiresAt: number;
  /** How long its output files are kept, ms. */
  outputKeptMs: number;
  metadata: Record<string, string>;
  /** Hashes of the idempotency key and of the request that it came with. */
  key?: { hash: string; bodyHash: string };
  /** Whether the share of a client key bounds its jobs. */
  hasShare: boolean;
}

/** What is wrong with a line, or with the whole file. */
export interface LineFault {
  /** The line's number in the file, from 1; null: the file. */
  line: number | null;
  code: string;
  message: string;
  /** The field that is wrong. */
  param: string | null;
}

/** What a batch came to; written with its files and never changed, whatever happens to its jobs later. */
export interface BatchResult {
  /** Lines in the output file. */
  completed: number;
  /** Lines in the error file that failed; the others there were cancelled with the batch, or expired. */
  failed: number;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Known costs of all attempts. */
  nanoDollars: NanoDollars;
  /** null: nothing was written to it. */
  outputFileId: string | null;
  errorFileId: string | null;
}

/** The context of the batch machine. Plain JSON; times are epoch ms, null until then. */
export interface BatchLife {
  /** Requests in the file; null until it was read to its end. */
  lines: number | null;
  faults: LineFault[];
  startedAt: number | null;
  /** Its window was over before all of its jobs had ended. */
  expiringAt: number | null;
  cancellingAt: number | null;
  finalizingAt: number | null;
  finishedAt: number | null;
  result: BatchResult | null;
}

/** The part of a run that makes it a batch. */
export interface RunBatch {
  request: BatchRequest;
  state: BatchStatus;
  life: BatchLife;
}

/** Whether nothing of a batch changes any more. */
export function isFinal(state: BatchStatus): boolean {
  return state === 'completed' || state === 'failed' || state === 'expired' || state === 'cancelled';
}
