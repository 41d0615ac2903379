import type { Config } from '../../config/config.ts';
import type { Clock } from '../../domain/clock.ts';
import { InvalidTransition, jobNotFound } from '../../domain/errors.ts';
import type { JobRecord } from '../../domain/job.ts';
import { type JobStatus, statusOf } from '../../domain/states.ts';
import { planRoute } from '../../routing/router.ts';
import type { Store } from '../../store/store.ts';
import type { AttemptCosts } from './attemptCosts.ts';
import type { JobHost } from './jobHost.ts';
import type { Applied } from './step.ts';

/** What people do to a job that exists, and the error when its state does not allow it. */
export class JobCommands {
  readonly #config: () => Config;
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #host: JobHost;
  readonly #costs: AttemptCosts;

  constructor(parts: {
    config: () => Config;
    clock: Clock;
    store: Store;
    host: JobHost;
    costs: AttemptCosts;
  }) {
    this.#config = parts.config;
    this.#clock = parts.clock;
    this.#store = parts.store;
    this.#host = parts.host;
    this.#costs = parts.costs;
  }

  /** @throws CoordinatorError job_not_found; InvalidTransition when it has ended; StoreUnavailable. */
  async cancel(id: string): Promise<JobRecord> {
    const applied = await this.#host.apply(id, (job) => [
      { type: 'job.cancelled', at: this.#clock.now(), cost: this.#costs.unreported(job) },
    ]);
    return this.#changed(id, applied, 'cancelled');
  }

  /** @throws CoordinatorError job_not_found; InvalidTransition unless failed or stuck; StoreUnavailable. */
  async retry(id: string): Promise<JobRecord> {
    const applied = await this.#host.apply(id, (job) => {
      // A provider that nothing names any more keeps the job where it was.
      const plan = planRoute(job.request, this.#config());
      const [target, ...chain] = plan?.candidates ?? [job.life.target, ...job.life.chain];
      const strategy = plan?.strategy ?? job.life.strategy;
      const cost = this.#costs.unreported(job);
      return [{ type: 'job.retried', at: this.#clock.now(), strategy, target, chain, cost }];
    });
    return this.#changed(id, applied, 'retried');
  }

  async #changed(id: string, applied: Applied, verb: string): Promise<JobRecord> {
    if (applied.kind === 'applied') return applied.after;
    const archived = applied.kind === 'unknown' ? await this.#store.archivedJob(id) : undefined;
    const job = applied.kind === 'refused' ? applied.job : archived;
    if (job === undefined) throw jobNotFound(id);
    const status = statusOf(job.state);
    if (archived !== undefined && verb === 'retried' && status === 'failed') {
      const message = 'A job that is archived cannot be retried; send its request again as a new job';
      throw new InvalidTransition(message, status);
    }
    throw new InvalidTransition(`A job that is ${status} cannot be ${verb}${hint(verb, status)}`, status);
  }
}

/** What would be accepted instead. */
function hint(verb: string, status: JobStatus): string {
  if (verb === 'retried' && status === 'pending') return '; it is in the queue already';
  if (verb === 'retried' && status === 'running') return ' while its worker is connected; cancel it instead';
  if (verb === 'cancelled' && status === 'failed') return '; it has ended already';
  return '; nothing leads out of that state';
}
