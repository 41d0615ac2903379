import { windowAt } from '../../../machines/providerBreaker.ts';
import type { ProviderLife } from '../../../machines/providerLife.ts';
import type { ProviderFleet, ProviderRules, ProviderView } from '../../domain/provider.ts';
import type { ProviderStatus } from '../../domain/states.ts';

/** A provider as the API shows it. */
export function providerView(of: {
  name: string;
  isConfigured: boolean;
  model: string | null;
  status: ProviderStatus;
  /** null when no job has met it. */
  life: ProviderLife | null;
  rules: ProviderRules;
  monotonic: number;
  /** Requests at it now. */
  underWay: number;
  latencyMs: number | null;
  fleet: ProviderFleet;
}): ProviderView {
  const { name, isConfigured, model, status, life, rules, latencyMs, fleet } = of;
  const { rateLimit, breaker } = rules;
  const window = life === null ? { attempts: 0, failed: 0 } : windowAt(life, breaker, of.monotonic);
  return {
    name,
    isConfigured,
    status,
    until: life?.until ?? null,
    changedAt: life?.changedAt ?? null,
    running: of.underWay,
    maxConcurrent: rateLimit?.maxConcurrent ?? null,
    latencyMs,
    model,
    rateLimit,
    limitsInRow: life?.limitsInRow ?? 0,
    breaker: { ...breaker, ...window, opensInRow: life?.opensInRow ?? 0, openedBy: life?.cause ?? null },
    fleet,
  };
}
