import type { ProviderStatus } from './states.ts';

/** A provider as the API shows it: over all workers that serve it. */
export interface ProviderView {
  name: string;
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
}
