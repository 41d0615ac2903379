import { Counter, Gauge, type Registry } from 'prom-client';
import type { WebhookFigures } from '../coordinator/webhooks/index.ts';
import type { ProviderView } from '../domain/provider.ts';
import { providerStatuses } from '../domain/states.ts';
import type { Stats } from '../domain/stats.ts';
import { version } from '../lib/version.ts';
import type { KnownNames } from './knownNames.ts';

const provider = 'gen_ai_provider_name';

/** Levels, read at a scrape and not maintained in between. @returns a function that sets all of them. */
export function createStateGauges(
  registry: Registry,
  names: KnownNames,
): (stats: Stats, providers: readonly ProviderView[], webhooks: WebhookFigures) => void {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  gauge('svc_info', 'The running version.', ['version']).labels(version).set(1);
  const jobs = gauge('svc_jobs', 'Jobs by state.', ['state']);
  const runs = gauge('svc_runs', 'Runs by state.', ['state']);
  const batches = gauge('svc_batches', 'Batches by state.', ['state']);
  const queue = gauge('svc_queue_jobs', 'Jobs that could run now.', [provider, 'priority']);
  const oldest = gauge('svc_queue_oldest_wait_seconds', 'Wait of the oldest job that could run now.', [
    provider,
    'priority',
  ]);
  const workers = gauge('svc_workers_connected', 'Connected workers.');
  const slots = gauge('svc_slots', 'Slots of connected workers.');
  const taken = gauge('svc_slots_taken', 'Slots of connected workers in use.');
  const ofProvider = {
    state: gauge('svc_provider_state', '1 for the current state of the provider.', [provider, 'state']),
    slots: gauge('svc_provider_slots', 'Slots of connected workers that serve the provider.', [provider]),
    free: gauge('svc_provider_slots_free', 'Of these, slots that could take a job now.', [provider]),
    requests: gauge('svc_provider_requests', 'Running requests.', [provider]),
    failures: gauge('svc_provider_breaker_failures', 'Failures in the window of the circuit breaker.', [
      provider,
    ]),
  };
  const paused = gauge('svc_queue_paused', '1 while an operator has paused the queue.');
  const accepting = gauge('svc_accepting_jobs', '1 while jobs are accepted.');
  const journal = gauge(
    'svc_journal_bytes',
    'Journal that is not in a checkpoint yet: what a start replays.',
  );
  const store = gauge('svc_store_up', '1 while the store accepts writes.');
  const delay = gauge('svc_event_loop_delay_p99_seconds', 'How late the event loop was, 99th percentile.');
  const setWebhooks = createWebhookFigures(registry);
  const changing = [queue, oldest, ...Object.values(ofProvider)];
  return (stats, views, webhooks) => {
    setWebhooks(webhooks);
    for (const one of changing) one.reset();
    for (const [state, count] of Object.entries(stats.jobs.byState)) jobs.labels(state).set(count);
    for (const [state, count] of Object.entries(stats.runs)) runs.labels(state).set(count);
    for (const [state, count] of Object.entries(stats.batches)) batches.labels(state).set(count);
    setQueue(stats, names, queue, oldest);
    workers.set(stats.slots.workers.length);
    slots.set(stats.slots.total);
    taken.set(stats.slots.taken);
    for (const view of views) {
      const label = names.provider(view.name);
      for (const state of providerStatuses)
        ofProvider.state.labels(label, state).set(view.status === state ? 1 : 0);
      ofProvider.slots.labels(label).set(view.fleet.slots);
      ofProvider.free.labels(label).set(view.fleet.freeSlots);
      ofProvider.requests.labels(label).set(view.running);
      ofProvider.failures.labels(label).set(view.breaker.failed);
    }
    const { status, journalBytes, store: storeStatus, vitals } = stats.coordinator;
    accepting.set(status === 'accepting' || status === 'paused' ? 1 : 0);
    paused.set(stats.queue.paused ? 1 : 0);
    journal.set(journalBytes);
    store.set(storeStatus === 'ok' ? 1 : 0);
    if (vitals !== null) delay.set(vitals.eventLoopDelayP99Ms / 1000);
  };
}

/** What is sent to webhooks. The counts are those of the courier, which begin with the process. */
function createWebhookFigures(registry: Registry): (figures: WebhookFigures) => void {
  const registers = [registry];
  const deliveries = new Counter({
    name: 'svc_webhook_deliveries_total',
    help: 'Tries of webhook deliveries by how they ended, and deliveries that were dropped.',
    labelNames: ['outcome'],
    registers,
  });
  const pending = new Gauge({
    name: 'svc_webhook_pending',
    help: 'Webhook deliveries that wait.',
    registers,
  });
  const oldest = new Gauge({
    name: 'svc_webhook_oldest_timestamp_seconds',
    help: 'When the oldest webhook delivery that waits was decided on; 0 when none waits.',
    registers,
  });
  return (figures) => {
    deliveries.reset();
    for (const [outcome, count] of Object.entries(figures.outcomes)) deliveries.labels(outcome).inc(count);
    pending.set(figures.pending);
    oldest.set((figures.oldestAt ?? 0) / 1000);
  };
}

/** Groups of providers without labels of their own are one group. */
function setQueue(stats: Stats, names: KnownNames, queue: Gauge, oldest: Gauge): void {
  const waits = new Map<string, number>();
  for (const { provider: name, priority, ready, oldestWaitMs } of stats.pending) {
    const label = names.provider(name);
    const key = `${label}\n${priority}`;
    const waitMs = Math.max(oldestWaitMs, waits.get(key) ?? 0);
    waits.set(key, waitMs);
    queue.labels(label, priority).inc(ready);
    oldest.labels(label, priority).set(waitMs / 1000);
  }
}
