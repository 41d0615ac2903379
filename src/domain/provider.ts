import type { Failure } from './failure.ts';
import type { ProviderStatus } from './states.ts';

/** A provider in the API: over all workers that serve it. */
export interface ProviderView {
  name: string;
  /** Whether the configuration names it; else jobs or workers named it. */
  isConfigured: boolean;
  status: ProviderStatus;
  /** Epoch ms until which no request is sent; null when unknown or not held. */
  until: number | null;
  /** Epoch ms; null before its first job. */
  changedAt: number | null;
  /** Running requests, and their ceiling; null for none. */
  running: number;
  maxConcurrent: number | null;
  /** Mean duration of its recent successful attempts, ms; null before the first. */
  latencyMs: number | null;
  /** The model for jobs that name none. */
  model: string | null;
  /** null: a 429 fails the job, because no limit is configured. */
  rateLimit: RateLimit | null;
  /** 429 answers without a success in between. */
  limitsInRow: number;
  breaker: BreakerView;
  fleet: ProviderFleet;
}

/** A stored hold on a provider: a limit, or an open breaker. Removed when the provider is available again. */
export interface ProviderHold {
  name: string;
  status: 'limited' | 'open';
  /** Epoch ms until which no request is sent. */
  until: number;
  /** Epoch ms. */
  changedAt: number;
  limitsInRow: number;
  opensInRow: number;
  /** The failure that last opened its breaker; null after a success. */
  cause: Failure | null;
}

/** How to wait after a provider's 429. */
export interface RateLimit {
  /** null = no ceiling. */
  maxConcurrent: number | null;
  retryAfterSeconds: number;
  maxRetries: number;
  retryAfterMaxSeconds: number;
}

/** What opens the circuit breaker of a provider, and for how long. */
export interface BreakerSettings {
  /** Share of failed attempts in the window that opens it, 0..1. */
  ratio: number;
  /** Attempts in the window below which it never opens. */
  minimum: number;
  windowSeconds: number;
  openSeconds: number;
}

/** What the configuration says of a provider's limits. */
export interface ProviderRules {
  /** null: a 429 fails its job. */
  rateLimit: RateLimit | null;
  breaker: BreakerSettings;
}

/** Breaker settings, with how near the breaker is to opening. */
export interface BreakerView extends BreakerSettings {
  /** Attempts that ended in the current window, and how many of them count against the provider. */
  attempts: number;
  failed: number;
  opensInRow: number;
  /** The failure that last opened it; null when there was none, or after a success. */
  openedBy: Failure | null;
}

/** The connected workers that serve a provider. */
export interface ProviderFleet {
  workers: number;
  slots: number;
  /** Slots that could take a job now: not those of paused and silent workers. */
  freeSlots: number;
  /** Advertised models, sorted. */
  models: string[];
}
