import type { ProviderView } from '../domain/provider.ts';
import { iso } from '../domain/wire/iso.ts';
import { type WireProvider, wireBreakerSettings, wireRateLimit } from '../domain/wire/provider.ts';

/** A provider for the API. */
export function presentProvider(view: ProviderView): WireProvider {
  const { rateLimit, breaker, fleet } = view;
  return {
    name: view.name,
    configured: view.isConfigured,
    status: view.status,
    until: iso(view.until),
    changed_at: iso(view.changedAt),
    running: view.running,
    max_concurrent: view.maxConcurrent,
    latency_ms: view.latencyMs === null ? null : Math.round(view.latencyMs),
    model: view.model,
    rate_limit: wireRateLimit(rateLimit),
    limits_in_row: view.limitsInRow,
    breaker: {
      ...wireBreakerSettings(breaker),
      attempts: breaker.attempts,
      failed: breaker.failed,
      opens_in_row: breaker.opensInRow,
      opened_by: breaker.openedBy,
    },
    workers: fleet.workers,
    slots: fleet.slots,
    free_slots: fleet.freeSlots,
    models: fleet.models,
  };
}
