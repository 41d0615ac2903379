import { Counter, Histogram, type Registry } from 'prom-client';
import type { Committed } from '../coordinator/core/index.ts';
import { type Attempt, lastAttempt } from '../domain/job.ts';
import type { NanoDollars } from '../domain/money.ts';
import type { KnownNames } from './knownNames.ts';
import { BoundedLabel, Children, Sums } from './labels.ts';

/** The conventions of OpenTelemetry for generative AI; local models take longer, so three more. */
const operationSeconds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68,
  655.36,
];
const tokens = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
const claimSeconds = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1800, 3600, 21_600,
];
const prioritiesMax = 20;
/** The one operation of workers. */
const operation = 'chat';
const ofModel = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

/** Totals of jobs and their attempts, counted when durable: some 3 µs a job in all. */
export class JobMetrics {
  readonly #names: KnownNames;
  readonly #priorities = new BoundedLabel(prioritiesMax);
  readonly #claims;
  readonly #attempts;
  readonly #durations;
  readonly #usage;
  readonly #tokens;
  readonly #dollars;
  readonly #unknown;
  readonly #implausible;

  // Over 60 lines: one entry for each metric.
  constructor(registry: Registry, names: KnownNames) {
    this.#names = names;
    const registers = [registry];
    const claims = new Histogram({
      name: 'svc_job_claim_seconds',
      help: 'From being ready to the assignment of the first attempt.',
      labelNames: ['priority'],
      buckets: claimSeconds,
      registers,
    });
    this.#claims = new Children((priority) => claims.labels(priority ?? ''));
    const attempts = new Counter({
      name: 'svc_attempts_total',
      help: 'Attempts that ended. One that was counted as lost and then completes counts as both.',
      labelNames: ['gen_ai_provider_name', 'outcome', 'error_type'],
      registers,
      collect: () => this.#attempts.flush(),
    });
    this.#attempts = new Sums((...labels) => attempts.labels(...labels));
    const durations = new Histogram({
      name: 'gen_ai_client_operation_duration_seconds',
      help: 'Time of attempts, from assignment to end; error_type is empty for those that completed.',
      labelNames: [...ofModel, 'error_type'],
      buckets: operationSeconds,
      registers,
    });
    this.#durations = new Children((...labels) => durations.labels(operation, ...labels));
    const usage = new Histogram({
      name: 'gen_ai_client_token_usage',
      help: 'Billable tokens of an attempt; input includes cached, output includes reasoning.',
      labelNames: [...ofModel, 'gen_ai_token_type'],
      buckets: tokens,
      registers,
    });
    this.#usage = new Children((...labels) => usage.labels(operation, ...labels));
    const parts = new Counter({
      name: 'svc_tokens_total',
      help: 'Tokens by kind; cached_input is part of input, reasoning of output.',
      labelNames: ['gen_ai_provider_name', 'kind'],
      registers,
      collect: () => this.#tokens.flush(),
    });
    this.#tokens = new Sums((...labels) => parts.labels(...labels));
    const dollars = new Counter({
      name: 'svc_cost_usd_total',
      help: 'Known cost of attempts, US dollars.',
      labelNames: ['gen_ai_provider_name', 'gen_ai_request_model'],
      registers,
      collect: () => this.#dollars.flush(),
    });
    this.#dollars = new Sums((...labels) => dollars.labels(...labels));
    const unknown = new Counter({
      name: 'svc_attempts_unknown_cost_total',
      help: 'Attempts that ended with unknown cost; some are reported later.',
      labelNames: ['gen_ai_provider_name'],
      registers,
      collect: () => this.#unknown.flush(),
    });
    this.#unknown = new Sums((...labels) => unknown.labels(...labels));
    const implausible = new Counter({
      name: 'svc_usage_implausible_total',
      help: 'Attempts whose worker reported more tokens than cost.tokens_max_per_attempt; no sum includes them.',
      labelNames: ['gen_ai_provider_name'],
      registers,
      collect: () => this.#implausible.flush(),
    });
    this.#implausible = new Sums((...labels) => implausible.labels(...labels));
  }

  follow({ before, after, event }: Committed): void {
    if (event === null) return;
    const { life } = after;
    if (event.type === 'job.assigned') {
      const attempt = lastAttempt(life);
      if (attempt?.number !== 1) return;
      const waitedMs = Math.max(0, attempt.startedAt - life.enqueuedAt);
      this.#claims.of(this.#priorities.of(life.priority)).observe(waitedMs / 1000);
      return;
    }
    for (const [index, attempt] of life.attempts.entries()) {
      const old = before?.life.attempts[index];
      if (old !== attempt) this.#changed(old, attempt);
    }
  }

  #changed(old: Attempt | undefined, attempt: Attempt): void {
    const { outcome, error, usage, cost } = attempt;
    // Without a requested model, the worker's report replaces it.
    const isReported = old !== undefined && old.model === null;
    const [provider, model] = this.#names.pair(attempt.provider, attempt.model, isReported);
    if (outcome !== null && outcome !== old?.outcome) {
      const errorType = outcome === 'completed' ? '' : (error?.class ?? outcome);
      this.#attempts.add(1, provider, outcome, errorType);
      const tookMs = (attempt.finishedAt ?? attempt.startedAt) - attempt.startedAt;
      this.#durations.of(provider, model, errorType).observe(Math.max(0, tookMs) / 1000);
      if (cost.status === 'unknown') this.#unknown.add(1, provider);
    }
    if (usage?.isImplausible === true && old?.usage == null) this.#implausible.add(1, provider);
    else if (usage !== null && old?.usage == null) {
      this.#usage.of(provider, model, 'input').observe(usage.inputTokens);
      this.#usage.of(provider, model, 'output').observe(usage.outputTokens);
      this.#tokens.add(usage.inputTokens, provider, 'input');
      this.#tokens.add(usage.outputTokens, provider, 'output');
      if (usage.cachedInputTokens > 0) this.#tokens.add(usage.cachedInputTokens, provider, 'cached_input');
      if (usage.reasoningTokens > 0) this.#tokens.add(usage.reasoningTokens, provider, 'reasoning');
    }
    const dearer = known(cost.nanoDollars) - known(old?.cost.nanoDollars ?? null);
    if (dearer > 0) this.#dollars.add(dearer / 1e9, provider, model);
  }
}

function known(nanoDollars: NanoDollars | null): number {
  return nanoDollars ?? 0;
}
