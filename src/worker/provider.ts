import type { Clock } from '../domain/clock.ts';
import type { WireUsage } from '../domain/usage.ts';
import type { WorkerKind } from '../domain/worker.ts';
import type { Assignment, WireFailure, WireResult } from '../domain/workerProtocol.ts';

/** What a run may use. Its members may be taken out of it: none depends on `this`. */
export interface RunContext {
  /** Fires when the run must end: cancelled, timed out, lease lost, or the worker stops. */
  readonly signal: AbortSignal;
  /** Hand over a piece of the output as soon as it is there. The pieces in order make up the output. */
  readonly onText: (text: string) => void;
  readonly clock: Clock;
}

/** What a provider answered. The worker adds the times it measured itself. */
export type ProviderResult = Omit<WireResult, 'latency_ms' | 'first_token_ms'>;

/**
 * How a run ended. `usage` of a failure is what the provider charged all the same; left out when it is not known, so
 * that an unknown cost is never shown as 0. `begun`: the provider had put out something, which it may charge for;
 * `model`: what it ran, to price the usage by.
 */
export type Outcome =
  | { ok: true; result: ProviderResult }
  | {
      ok: false;
      error: WireFailure;
      usage?: Partial<WireUsage> | undefined;
      begun?: boolean;
      model?: string | null;
    };

/** A run that brought no answer. */
export type FailedOutcome = Extract<Outcome, { ok: false }>;

/**
 * The way to one provider of language models. `test/conformance/provider.ts` holds every adapter to these promises.
 */
export interface Provider {
  /** The name that jobs ask for. */
  readonly name: string;
  readonly kind: WorkerKind;
  /**
   * The models that can be had now; null when the provider takes any name.
   * @throws ProviderUnreachable when a local server does not answer.
   */
  models(): Promise<string[] | null>;
  /**
   * Ask the provider now whether it can be used: it is reached, and takes the key. Costs nothing.
   * @returns the models that it lists; null when there is nobody to ask.
   * @throws ProviderUnreachable, ProviderRefused.
   */
  probe(): Promise<string[] | null>;
  /**
   * Run one job. Many run at once.
   * - Every failure of the provider is an outcome with its class, not a throw; a throw is a bug of the adapter.
   * - No retries: the coordinator decides about those.
   * - An aborted run closes what it has open and resolves soon with `ok: false` and the usage so far when it is known.
   *   It resolves with `ok: true` only when the whole answer had come before.
   * - Nothing of the prompt, the input, the output or a key is logged or put into an error's message.
   */
  run(assignment: Assignment, context: RunContext): Promise<Outcome>;
}

/** A local-model server did not answer when the worker started. The message says where it was looked for. */
export class ProviderUnreachable extends Error {
  readonly address: string;
  /** What happened. */
  readonly problem: string;
  readonly advice: string;
  /** What a job that needed the server is failed with. */
  readonly failure: WireFailure;

  /** @param address scheme, host and port. @param advice what the operator can do, in sentences. */
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

/** The provider answers, and does not take the worker's key. The message has no key in it. */
export class ProviderRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProviderRefused';
  }
}

/** The outcome of a run that was stopped from outside. The worker reports it as `aborted` or `release`. */
export function abortedOutcome(usage?: Partial<WireUsage>, model: string | null = null): FailedOutcome {
  const error: WireFailure = { class: 'unknown', code: 'aborted', message: 'The run was stopped' };
  return { ok: false, error, usage, model };
}
