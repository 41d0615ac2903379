import type { ReasoningPart, ToolCallPart } from '../domain/chunkParts.ts';
import type { Clock } from '../domain/clock.ts';
import type { WireUsage } from '../domain/usage.ts';
import type { WorkerKind } from '../domain/worker.ts';
import type { Assignment, WireFailure, WireResult } from '../domain/workerProtocol.ts';

/** The interface of a run for its adapter. Members may be destructured: none depends on `this`. */
export interface RunContext {
  /** Fires when the run must end: cancelled, timed out, lease lost, or the worker stops. */
  readonly signal: AbortSignal;
  /** Pass on a piece of the output as soon as it arrives. All pieces in order are the output. */
  readonly onText: (text: string) => void;
  /**
   * Pass on a piece of reasoning or of a tool call as soon as it arrives, in order with the text. The pieces of a call
   * are those of `result.tool_calls[index]`: its id and name come with the first, and all arguments in order are the
   * call's.
   */
  readonly onPart: (part: ReasoningPart | ToolCallPart) => void;
  readonly clock: Clock;
}

/** A provider's answer. The worker adds the times that it measured itself. */
export type ProviderResult = Omit<WireResult, 'latency_ms' | 'first_token_ms'>;

/**
 * How a run ended. `usage` of a failure is what the provider charged anyway; absent when unknown, so that an unknown
 * cost is never shown as 0. `begun`: the provider had sent output, which it may charge for; `model`: what it ran, to
 * price the usage.
 */
export type RunOutcome =
  | { ok: true; result: ProviderResult }
  | {
      ok: false;
      error: WireFailure;
      usage?: Partial<WireUsage> | undefined;
      begun?: boolean;
      model?: string | null;
    };

/** A run without an answer. */
export type FailedOutcome = Extract<RunOutcome, { ok: false }>;

/** The adapter of one provider of language models. `test/conformance/provider.ts` checks these promises for each. */
export interface Provider {
  /** The name used by jobs. */
  readonly name: string;
  readonly kind: WorkerKind;
  /**
   * The models available now; null when the provider takes any name.
   * @throws ProviderUnreachable when a local server does not answer.
   */
  models(): Promise<string[] | null>;
  /**
   * Check now whether the provider can be used: it is reachable and accepts the key. Costs nothing.
   * @returns the models that it lists; null when there is no server.
   * @throws ProviderUnreachable, ProviderRefused.
   */
  probe(): Promise<string[] | null>;
  /**
   * Run one job. Many run at once.
   * - Every failure of the provider is an outcome with its class, not a throw; a throw is a bug of the adapter.
   * - No retries: the coordinator decides about those.
   * - An aborted run closes its connections and resolves soon with `ok: false` and the usage so far if known. It
   * resolves with `ok: true` only when the whole answer had arrived before.
   * - Neither logs nor error messages contain the prompt, the input, the output or a key.
   */
  run(assignment: Assignment, context: RunContext): Promise<RunOutcome>;
}

/** A local-model server did not answer when the worker started. The message names its address. */
export class ProviderUnreachable extends Error {
  readonly address: string;
  /** What happened. */
  readonly problem: string;
  readonly advice: string;
  /** The failure of a job that needed the server. */
  readonly failure: WireFailure;

  /** @param address scheme, host and port. @param advice for the operator, in sentences. */
  constructor(
    provider: string,
    address: string,
    problem: string,
    advice: string,
    { cause, failure }: { cause?: unknown; failure?: WireFailure } = {},
  ) {
    super(`could not connect to the ${provider} server at ${address}: ${problem}. ${advice}`, { cause });
    this.name = 'ProviderUnreachable';
    this.address = address;
    this.problem = problem;
    this.advice = advice;
    this.failure = failure ?? {
      class: 'network',
      message: `could not reach the ${provider} server at ${address}: ${problem}`,
    };
  }
}

/** The provider answers, but refuses the worker's key. The message contains no key. */
export class ProviderRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProviderRefused';
  }
}

/** The outcome of a run stopped from outside. The worker reports it as `aborted` or `release`. */
export function abortedOutcome(usage?: Partial<WireUsage>, model: string | null = null): FailedOutcome {
  const error: WireFailure = { class: 'unknown', code: 'aborted', message: 'The run was stopped' };
  return { ok: false, error, usage, model };
}
