import { faultText, lineOf } from '../../domain/failure.ts';
import type { JobRecord, Target } from '../../domain/job.ts';
import type { QueueState } from '../../domain/queue.ts';
import type { Waiting } from '../../domain/waiting.ts';
import type { Supervisor } from '../core/index.ts';
import { type FleetMember, isOpen, type Leases, type RefusedWorkers, type Workers } from '../fleet/index.ts';
import type { Providers } from '../limits/index.ts';
import type { RunBook, RunBudget } from '../runs/index.ts';
import { type Candidate, type Candidates, firstTrial } from './candidates.ts';

type Reason = Omit<Waiting, 'position'>;

/** Workers that a reason names. */
const namesMax = 10;

/** Explains why a pending job has not started, from what the coordinator sees now. */
export class WaitingReasons {
  readonly #candidates: Candidates;
  readonly #leases: Leases;
  readonly #providers: Providers;
  readonly #workers: Workers;
  readonly #refusedWorkers: RefusedWorkers;
  readonly #queue: { readonly state: QueueState };
  readonly #supervisor: Supervisor;
  readonly #runs: RunBook;
  readonly #budget: RunBudget;

  constructor(options: {
    candidates: Candidates;
    leases: Leases;
    providers: Providers;
    workers: Workers;
    refusedWorkers: RefusedWorkers;
    queue: { readonly state: QueueState };
    supervisor: Supervisor;
    runs: RunBook;
    budget: RunBudget;
  }) {
    this.#candidates = options.candidates;
    this.#leases = options.leases;
    this.#providers = options.providers;
    this.#workers = options.workers;
    this.#refusedWorkers = options.refusedWorkers;
    this.#queue = options.queue;
    this.#supervisor = options.supervisor;
    this.#runs = options.runs;
    this.#budget = options.budget;
  }

  /** The first obstacle; what an operator can fix comes before what only time resolves. */
  explain(job: JobRecord): Reason {
    const { life } = job;
    if (life.delayedUntil !== null) {
      const detail =
        life.attempts.length === 0
          ? 'It was asked to start no earlier (not_before)'
          : 'Its last attempt failed, and there is a pause before the next';
      return reason('delayed', detail, life.delayedUntil);
    }
    const queue = this.#queue.state;
    if (queue.paused) return reason('queue_paused', pausedText(queue));
    if (!this.#supervisor.isAssigning)
      return reason('draining', 'The coordinator is not handing out jobs now');
    const ofRun = this.#ofRun(job);
    if (ofRun !== null) return ofRun;
    const candidates = this.#candidates.of(life);
    return this.#ofCandidate(this.#candidates.pick(life, '', candidates) ?? firstBack(candidates));
  }

  /** What its run holds back. */
  #ofRun(job: JobRecord): Reason | null {
    const run = job.run === undefined ? undefined : this.#runs.find(job.run.runId);
    if (run === undefined) return null;
    if (run.state === 'cancelled')
      return reason('run_paused', `Run ${run.name} is cancelled; this job will be, too`);
    if (run.life.pause !== null)
      return reason('run_paused', `Run ${run.name} is paused: ${run.life.pause.detail}`);
    const { provider, model } = job.life.target;
    const budget = this.#budget.waitText(job, { provider, model });
    return budget === null ? null : reason('run_budget', budget);
  }

  #ofCandidate({ target, model, fitting, unwell, until }: Candidate): Reason {
    const { provider } = target;
    if (!fitting.some(isOpen) && unwell.some(isOpen))
      return unhealthy(unwell.filter(isOpen), provider, model);
    if (fitting.length === 0) return reason('no_worker', noWorker(target) + this.#refusedText());
    if (this.#providers.allowance(provider) <= 0) return this.#ofProvider(provider, until);
    const ceiling = this.#providers.ceiling(provider);
    if (ceiling !== null && this.#leases.ofProvider(provider) >= ceiling) {
      const most = this.#providers.maxConcurrent(provider);
      return reason(
        'provider_full',
        ceiling === most
          ? `${provider} has its max_concurrent of ${most} requests under way`
          : `${provider} is just back: it has ${ceiling} requests under way, and gets more with each one that gets through`,
      );
    }
    return this.#ofWorkers(fitting, unwell, provider, model);
  }

  /** One of them may be the worker that is missing. */
  #refusedText(): string {
    const [last, ...others] = this.#refusedWorkers.list();
    if (last === undefined) return '';
    const who = last.name ?? last.address ?? 'a worker';
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    return `. A worker is refused: ${who}${more}, ${last.why}`;
  }

  #ofProvider(provider: string, until: number | null): Reason {
    const status = this.#providers.status(provider);
    const openedBy = this.#providers.openedBy(provider);
    const because = openedBy === null ? '' : `. What stopped it: ${lineOf(openedBy)}`;
    if (status === 'probing') {
      return reason(
        this.#providers.hasOpened(provider) ? 'provider_open' : 'provider_limited',
        `One job is sent to ${provider} to see whether it is back; the others wait for its first output, or its end${because}`,
      );
    }
    return status === 'open'
      ? reason(
          'provider_open',
          `Too many attempts at ${provider} failed; it is tried again soon${because}`,
          until,
        )
      : reason(
          'provider_limited',
          `${provider} answered 429 Too Many Requests; it is tried again then`,
          until,
        );
  }

  #ofWorkers(
    fitting: readonly FleetMember[],
    unwell: readonly FleetMember[],
    provider: string,
    model: string | null,
  ): Reason {
    const taking = fitting.filter(({ isTaking }) => isTaking);
    if (taking.length === 0) {
      return reason(
        'workers_paused',
        `The workers that fit take no new work now (paused, draining or silent): ${namesOf(fitting)}`,
      );
    }
    if (taking.every(({ life }) => life.concurrency === 0)) {
      return reason('concurrency_zero', `The workers that fit have a concurrency of 0: ${namesOf(fitting)}`);
    }
    if (taking.some(({ life }) => this.#workers.freeSlots(life) > 0)) {
      return reason('workers_busy', 'A slot is free; it is handed out in its turn, within moments');
    }
    const others = unwell.length > 0 ? `. Set aside: ${faultsOf(unwell, provider, model)}` : '';
    return reason(
      'workers_busy',
      `Every slot of the workers that fit is taken: ${namesOf(fitting)}${others}`,
    );
  }
}

/** The names of the first of them, and how many more there are: every answer about a waiting job has it. */
function namesOf(members: readonly FleetMember[]): string {
  const names = members.slice(0, namesMax).map(({ life }) => life.name);
  const more = members.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The names of the first of them, each with what is wrong. */
function faultsOf(members: readonly FleetMember[], provider: string, model: string | null): string {
  const lines = members.slice(0, namesMax).map(({ life, health }) => {
    const faults = health
      .heldFor(provider, model)
      .map((held) => `${faultText(held)}: ${lineOf(held.failure)}`);
    return `${life.name} ${faults.join(' and ')}`;
  });
  const more = members.length - lines.length;
  return `${lines.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function unhealthy(members: readonly FleetMember[], provider: string, model: string | null): Reason {
  const until = firstTrial(members, provider, model);
  const next = until === null ? 'one job is sent to see whether it can again' : 'one job tries it again then';
  return reason('workers_unhealthy', `${faultsOf(members, provider, model)}; ${next}`, until);
}

function pausedText({ by, reason: why }: QueueState): string {
  const who = by === null ? 'The queue is paused' : `${by.name ?? by.keyId} paused the queue`;
  return `${who}${why === null ? '' : ` (${why})`}; jobs start again when an operator resumes it`;
}

function reason(word: Waiting['reason'], detail: string, until: number | null = null): Reason {
  return { reason: word, detail, until };
}

function noWorker({ provider, worker, workerTag }: Target): string {
  const pin = worker !== null ? ` named ${worker}` : workerTag !== null ? ` with the tag ${workerTag}` : '';
  // It may be pasted into a shell, and clients choose the names of providers.
  const advice = /^[\w.-]+$/.test(provider) ? `; start one with: svc worker --provider ${provider}` : '';
  return `No connected worker${pin} serves the provider ${provider}${advice}`;
}

/** Of candidates that are all skipped: the one that is known to be back first, else the first that has a worker. */
function firstBack(candidates: readonly Candidate[]): Candidate {
  const [first] = [...candidates].sort(
    (a, b) =>
      (a.until ?? Number.POSITIVE_INFINITY) - (b.until ?? Number.POSITIVE_INFINITY) ||
      Number(b.fitting.length > 0) - Number(a.fitting.length > 0),
  );
  if (first === undefined) throw new Error('a job has at least one candidate');
  return first;
}
