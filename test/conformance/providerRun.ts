import type { ChunkPart } from '../../src/domain/chunkParts.ts';
import type { Clock } from '../../src/domain/clock.ts';
import type { WireUsage } from '../../src/domain/usage.ts';
import type { Assignment, WireFailure } from '../../src/domain/workerProtocol.ts';
import { systemClock } from '../../src/lib/systemClock.ts';
import type { Provider, RunContext, RunOutcome } from '../../src/worker/provider.ts';

/** The job that every field of which is the least a coordinator sends. */
export const least: Assignment = {
  job_id: '01J0000000000000000000000',
  lease: 1,
  attempt: 1,
  prompt: 'Say something about the weather',
  input: null,
  messages: null,
  params: {},
  provider: '',
  model: null,
  timeout_seconds: 0,
};

/** A run under way, with what it has said so far. */
export interface Begun {
  outcome: Promise<RunOutcome>;
  pieces: string[];
  /** The same with reasoning and tool calls. */
  parts: ChunkPart[];
  firstText: Promise<void>;
  /** Resolves when `test` is true of the parts so far. */
  until(test: (parts: readonly ChunkPart[]) => boolean): Promise<void>;
  abort(): void;
}

/** Run a job. @param options.signal in place of the one that `abort` fires. */
export function begin(
  provider: Provider,
  job: Partial<Assignment> = {},
  { signal, clock = systemClock }: { signal?: AbortSignal; clock?: Clock } = {},
): Begun {
  const controller = new AbortController();
  const pieces: string[] = [];
  const parts: ChunkPart[] = [];
  const first = Promise.withResolvers<void>();
  let wake = () => {};
  const heard = (part: ChunkPart): void => {
    parts.push(part);
    wake();
  };
  const context: RunContext = {
    signal: signal ?? controller.signal,
    clock,
    onText: (text) => {
      pieces.push(text);
      heard({ type: 'text', text });
      first.resolve();
    },
    onPart: heard,
  };
  const outcome = provider.run({ ...least, provider: provider.name, ...job }, context);
  const until = async (test: (parts: readonly ChunkPart[]) => boolean): Promise<void> => {
    while (!test(parts)) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { outcome, pieces, parts, firstText: first.promise, until, abort: () => controller.abort() };
}

/** @throws Error with what went wrong when it did not succeed. */
export function resultOf(outcome: RunOutcome): Extract<RunOutcome, { ok: true }>['result'] {
  if (outcome.ok) return outcome.result;
  throw new Error(`the run failed: ${JSON.stringify(outcome.error)}`);
}

/** @throws Error with what it answered when it did not fail. */
export function failureOf(outcome: RunOutcome): {
  error: WireFailure;
  usage: Partial<WireUsage> | undefined;
} {
  if (!outcome.ok) return { error: outcome.error, usage: outcome.usage };
  throw new Error(`the run succeeded: ${JSON.stringify(outcome.result).slice(0, 500)}`);
}
