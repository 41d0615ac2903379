import type { JobRecord } from '../domain/job.ts';
import type { Waiting } from '../domain/waiting.ts';
import type { WorkerLife } from '../domain/worker.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Leases } from './leases.ts';
import type { Providers } from './providers.ts';
import type { Workers } from './workers.ts';

type Reason = Omit<Waiting, 'position'>;

/** Explains why a pending job has not started, from what the coordinator sees now. */
export class WaitingReasons {
  readonly #dispatcher: Dispatcher;
  readonly #leases: Leases;
  readonly #providers: Providers;
  readonly #workers: Workers;
  readonly #isAssigning: () => boolean;

  constructor(options: {
    dispatcher: Dispatcher;
    leases: Leases;
    providers: Providers;
    workers: Workers;
    isAssigning: () => boolean;
  }) {
    this.#dispatcher = options.dispatcher;
    this.#leases = options.leases;
    this.#providers = options.providers;
    this.#workers = options.workers;
    this.#isAssigning = options.isAssigning;
  }

  /** The first thing in its way; what an operator can do about comes before what only time mends. */
  explain(job: JobRecord): Reason {
    const { target, delayedUntil } = job.life;
    const { provider } = target;
    if (delayedUntil !== null) {
      return reason(
        'delayed',
        'It waits until not_before, or for the back-off after a failed attempt',
        delayedUntil,
      );
    }
    if (!this.#isAssigning()) return reason('draining', 'The coordinator is not handing out jobs now');
    const fitting = this.#dispatcher.fitting(target);
    if (fitting.length === 0) return reason('no_worker', noWorker(job));
    const until = this.#providers.until(provider);
    if (this.#providers.allowance(provider) <= 0) {
      return this.#providers.status(provider) === 'open'
        ? reason('provider_open', `Too many attempts at ${provider} failed; it is tried again soon`, until)
        : reason(
            'provider_limited',
            `${provider} answered 429 Too Many Requests; it is tried again then`,
            until,
          );
    }
    const ceiling = this.#providers.maxConcurrent(provider);
    if (ceiling !== null && this.#leases.ofProvider(provider) >= ceiling) {
      return reason('provider_full', `${provider} has its max_concurrent of ${ceiling} requests under way`);
    }
    return this.#ofWorkers(fitting);
  }

  #ofWorkers(fitting: readonly WorkerLife[]): Reason {
    const names = fitting.map(({ name }) => name).join(', ');
    const taking = fitting.filter(({ id }) => this.#workers.isAssignable(id));
    if (taking.length === 0) {
      return reason(
        'workers_paused',
        `The workers that fit take no new work now (paused, draining or silent): ${names}`,
      );
    }
    if (taking.every(({ concurrency }) => concurrency === 0)) {
      return reason('concurrency_zero', `The workers that fit have a concurrency of 0: ${names}`);
    }
    if (taking.some(({ id }) => this.#workers.freeSlots(id) > 0)) {
      return reason('workers_busy', 'A slot is free; it is handed out in its turn, within moments');
    }
    return reason('workers_busy', `Every slot of the workers that fit is taken: ${names}`);
  }
}

function reason(word: Waiting['reason'], detail: string, until: number | null = null): Reason {
  return { reason: word, detail, until };
}

function noWorker(job: JobRecord): string {
  const { provider, worker, workerTag } = job.life.target;
  const pin = worker !== null ? ` named ${worker}` : workerTag !== null ? ` with the tag ${workerTag}` : '';
  return `No connected worker${pin} serves the provider ${provider}; start one with: svc worker --provider ${provider}`;
}
