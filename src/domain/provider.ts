import type { Failure } from './failure.ts';
import type { ProviderStatus } from './states.ts';

/** A provider as the API shows it: over all workers that serve it. */
export interface ProviderView {
  name: string;
  /** Whether the configuration names it; else jobs or workers brought it. */
  isConfigured: boolean;
  status: ProviderStatus;
  /** Epoch ms until which nothing is sent; null when it is not known or not so. */
  until: number | null;
  /** Epoch ms; null before its first job. */
  changedAt: number | null;
  /** Requests under way, and the ceiling of them; null for none. */
  running: number;
  maxConcurrent: number | null;
  /** Mean time of its recent attempts that ended well, ms; null before the first. */
  latencyMs: number | null;
  /** The model of jobs that name none. */
  model: string | null;
  /** null: a 429 fails the job, as no limit is configured. */
  rateLimit: RateLimit | null;
  /** 429 answers without a success in between. */
  limitsInRow: number;
  breaker: BreakerView;
  fleet: ProviderFleet;
}

/** What holds a provider back, as it is stored: a limit, or an open breaker. Removed when it is available again. */
export interface ProviderHold {
  name: string;
  status: 'limited' | 'open';
  /** Epoch ms until which nothing is sent. */
  until: number;
  /** Epoch ms. */
  changedAt: number;
  limitsInRow: number;
  opensInRow: number;
  /** The failure with which its breaker opened last; null when it has not since something succeeded. */
  cause: Failure | null;
}

/** How a provider's 429 is waited for. */
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

/** The same, and how near it is to that. */
export interface BreakerView extends BreakerSettings {
  /** Ends of attempts in the window now, and how many of them count against the provider. */
  attempts: number;
  failed: number;
  opensInRow: number;
  /** The failure with which it opened last; null when it has not, or something has succeeded since. */
  openedBy: Failure | null;
}

/** The connected workers that serve a provider. */
export interface ProviderFleet {
  workers: number;
  slots: number;
  /** Slots that a job could be given now: those of paused and silent workers are not. */
  freeSlots: number;
  /** Advertised for it, sorted. */
  models: string[];
}
