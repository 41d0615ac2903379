/**
 * Why a pending job has not started.
 * - `no_worker`         no connected worker fits its provider, model and pin.
 * - `workers_paused`    those that fit are paused or draining.
 * - `concurrency_zero`  those that fit have a concurrency of 0.
 * - `workers_unhealthy` those that fit cannot reach their provider now, or wait until it has loaded the model; until `until`.
 * - `workers_busy`      those that fit have no free slot.
 * - `provider_limited`  the provider answered 429; until `until`.
 * - `provider_open`     the provider's circuit breaker is open; until `until`.
 * - `provider_full`     `max_concurrent` of the provider is reached.
 * - `delayed`           `not_before` or a back-off; until `until`.
 * - `queue_paused`      an operator has paused the queue.
 * - `run_paused`        the job's run is paused, by an operator or by one of its limits.
 * - `run_budget`        the rest of its run's budget is set aside for jobs that run.
 * - `draining`          the coordinator is shutting down.
 */
export type WaitingReason =
  | 'no_worker'
  | 'workers_paused'
  | 'workers_unhealthy'
  | 'workers_busy'
  | 'concurrency_zero'
  | 'provider_limited'
  | 'provider_open'
  | 'provider_full'
  | 'delayed'
  | 'queue_paused'
  | 'run_paused'
  | 'run_budget'
  | 'draining';

export interface Waiting {
  reason: WaitingReason;
  /** For people: what would end the wait, and the failure that stopped a provider. */
  detail: string;
  /** Epoch ms, when known. */
  until: number | null;
  /** Place in its lane, from 1; null where it was not computed. */
  position: number | null;
}
