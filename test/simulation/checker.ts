import { isDeepStrictEqual } from 'node:util';
import type { Committed } from '../../src/coordinator/core/index.ts';
import { addAmounts, amountNames, type CostAmounts, noAmounts } from '../../src/domain/cost.ts';
import { type JobRecord, laneOf, lastAttempt } from '../../src/domain/job.ts';
import type { RunRecord } from '../../src/domain/run.ts';
import { isTerminal, statusOf } from '../../src/domain/states.ts';
import type { Change, Demand, JobChange } from '../../src/store/store.ts';
import type { Runs } from './fleet.ts';
import { faultsOfJob, faultsOfStep } from './jobChecks.ts';
import type { Knobs } from './knobs.ts';

/** What a client was told of what it asked for: done for ever, not done, or nothing (either is right then). */
export type Told = 'ok' | 'refused' | 'unknown';

/** A waiting job with a free worker that is passed over in so many looks in a row starves. */
const looksMax = 5;

/** Holds what the coordinator does and says against its promises, as it happens. */
export class Checker {
  /** One sentence for each breach; the first one counts. */
  readonly breaches: string[] = [];
  /** The last durable state of every job that anybody was told of. */
  readonly jobs = new Map<string, JobRecord>();
  /** Of those: the ready ones with their lanes, and the running ones. */
  readonly #ready = new Map<JobRecord, string>();
  readonly #running = new Set<JobRecord>();
  /** By the name that a client gave its job. */
  readonly #told = new Map<string, { told: Told; id: string | null }>();
  readonly #idByName = new Map<string, string>();
  /** Jobs with a commit under way. */
  readonly #busy = new Map<string, number>();
  /** Jobs of which a commit has made more than was told so far: job → its version. One commit may create and assign a job. */
  readonly #untold = new Map<string, number>();
  /** Worker → its slots, those of before a change included while that may still count. */
  readonly #slots = new Map<string, { now: number; before: number; since: number }>();
  readonly #runs: Runs;
  readonly #knobs: Knobs;
  readonly #now: () => number;
  #claimed: JobRecord[] = [];
  #lastOffer: JobRecord | null = null;
  /** What each wanted lane should offer first. */
  #firsts = new Map<string, JobRecord>();
  /** Provider → monotonic ms of its last assignment. */
  readonly #assignedAt = new Map<string, number>();
  /** Job → how often it was found waiting for no reason. */
  readonly #starving = new Map<string, number>();

  /** Whether a pause of the queue is durable, and no resume has begun. */
  #isPaused = false;
  /** Ids of the runs of which that is so. */
  readonly #heldRuns = new Set<string>();

  constructor(runs: Runs, knobs: Knobs, now: () => number) {
    this.#runs = runs;
    this.#knobs = knobs;
    this.#now = now;
  }

  breach(what: string): void {
    this.breaches.push(what);
  }

  /** A client was told how a dispatch ended. */
  told(name: string, told: Told, id: string | null): void {
    this.#told.set(name, { told, id });
    const found = this.#idByName.get(name);
    if (told === 'refused' && found !== undefined)
      this.breach(`${name} was refused and is there as ${found}`);
    if (told === 'ok' && id !== null && !this.jobs.has(id))
      this.breach(`${name} was acknowledged as ${id} and nobody made it durable`);
  }

  /** A change was made durable. */
  followed(committed: Committed): void {
    const { after, event } = committed;
    for (const fault of faultsOfStep(committed, this.jobs.get(after.id) ?? null))
      this.breach(`job ${after.id} ${fault}`);
    this.#keep(after);
    if (event?.type === 'job.assigned')
      this.#assignedAt.set(lastAttempt(after.life)?.provider ?? '', this.#now());
  }

  /**
   * A coordinator has started: everything that was durable must be there, at most with the one change more that was on
   * its way. @param found what its store has of them, by id; null for nothing.
   */
  restarted(found: ReadonlyMap<string, JobRecord | null>): void {
    this.#starving.clear();
    for (const [id, job] of found) {
      if (job === null) {
        this.breach(`job ${id} was durable at version ${this.jobs.get(id)?.version} and is gone`);
        continue;
      }
      const known = this.jobs.get(job.id);
      if (known === undefined) {
        this.#keep(job);
      } else if (job.version < known.version) {
        this.breach(`job ${job.id} was durable at version ${known.version} and is at ${job.version}`);
      } else if (job.version > known.version + 1) {
        this.breach(`job ${job.id} was at version ${known.version} and is at ${job.version}`);
      } else if (job.version > known.version) {
        this.#keep(job);
      } else if (!isDeepStrictEqual(job, known) && !isDeepStrictEqual(plain(job), plain(known))) {
        this.breach(`job ${job.id} at version ${job.version} is not what it was`);
      }
    }
  }

  /** A coordinator has started: a pause that was durable must be there. */
  queueFound(isPaused: boolean): void {
    if (this.#isPaused && !isPaused) this.breach('the queue was paused and is not after a restart');
    this.#isPaused = isPaused;
  }

  /** A commit begins; told again how it ended. */
  begin(changes: readonly Change[]): (isDurable: boolean) => void {
    const ids = changes.flatMap((change) => (change.kind === 'job' ? [change.id] : []));
    for (const id of ids) this.#busy.set(id, (this.#busy.get(id) ?? 0) + 1);
    for (const change of changes) {
      if (change.kind === 'queue' && !change.queue.paused) this.#isPaused = false;
      if (change.kind === 'run' && !isHeld(change.run)) this.#heldRuns.delete(change.run.id);
      const isFirst = change.kind === 'job' && change.expectedVersion === 1;
      if (this.#isPaused && isFirst && change.state === 'running.active')
        this.breach(`job ${change.id} is given away while the queue is paused`);
    }
    return (isDurable) => {
      for (const id of ids) {
        const count = (this.#busy.get(id) ?? 1) - 1;
        if (count > 0) this.#busy.set(id, count);
        else this.#busy.delete(id);
      }
      if (!isDurable) return;
      for (const change of changes) {
        if (change.kind === 'queue') this.#isPaused = change.queue.paused;
        if (change.kind === 'run' && isHeld(change.run)) this.#heldRuns.add(change.run.id);
        if (change.kind === 'job') this.#untold.set(change.id, change.expectedVersion + 1);
        if (change.kind !== 'worker') continue;
        const { id, concurrency } = change.life;
        const before = this.#slots.get(id)?.now ?? concurrency;
        this.#slots.set(id, { now: concurrency, before, since: this.#now() });
      }
    };
  }

  /** The coordinator has died, and with it what it was about to commit. */
  died(): void {
    this.#busy.clear();
    this.#untold.clear();
  }

  claiming({ lanes }: Demand): void {
    this.#claimed = [];
    this.#lastOffer = null;
    this.#firsts = new Map();
    for (const [job, lane] of this.#ready) {
      if (this.#isChanging(job.id) || !lanes.includes(lane)) continue;
      const first = this.#firsts.get(lane);
      if (first === undefined || this.#comesBefore(job, first)) this.#firsts.set(lane, job);
    }
  }

  offered(job: JobRecord, lane: string, decision: JobChange | 'skip' | 'close'): void {
    const first = this.#firsts.get(lane);
    if (first !== undefined && this.#comesBefore(first, job))
      this.breach(`job ${job.id} was offered before ${first.id}, which comes first in ${lane}`);
    this.#firsts.delete(lane);
    if (this.#lastOffer !== null && this.#comesBefore(job, this.#lastOffer))
      this.breach(`job ${job.id} was offered after ${this.#lastOffer.id}`);
    this.#lastOffer = job;
    if (typeof decision === 'string') return;
    if (this.#isPaused) this.breach(`job ${job.id} is given away while the queue is paused`);
    if (this.#heldRuns.has(job.run?.runId ?? ''))
      this.breach(`job ${job.id} is given away while its run is paused`);
    const attempt = lastAttempt(decision.life);
    if (attempt === undefined) return;
    const held = (key: 'workerId' | 'provider') =>
      [...this.#running, ...this.#claimed].filter(({ life }) => lastAttempt(life)?.[key] === attempt[key])
        .length;
    const slots = this.#slots.get(attempt.workerId);
    const most =
      slots === undefined ? 0 : Math.max(slots.now, this.#now() - slots.since < 100 ? slots.before : 0);
    const ceiling = this.#knobs.config.providers[attempt.provider]?.rateLimit?.maxConcurrent ?? null;
    // It may hold as many again that it does not run yet.
    if (held('workerId') >= 2 * most)
      this.breach(`job ${job.id} is given to ${attempt.workerId}, whose ${most} slots are taken`);
    if (ceiling !== null && held('provider') >= ceiling)
      this.breach(`job ${job.id} is given to ${attempt.provider}, which runs ${ceiling} already`);
    this.#claimed.push({ ...job, state: decision.state, life: decision.life });
  }

  /**
   * Look for jobs that wait while a worker that fits has a free slot and nothing stands in the way.
   * @param isFree whether the coordinator says that such work could be handed out now.
   */
  look(isFree: (job: JobRecord) => boolean): void {
    for (const job of this.#ready.keys()) {
      const { provider, worker } = job.life.target;
      const isMoving = this.#now() - (this.#assignedAt.get(provider) ?? Number.NEGATIVE_INFINITY) < 5_000;
      if (
        this.#isChanging(job.id) ||
        job.life.chain.length > 0 ||
        worker !== null ||
        isMoving ||
        !isFree(job)
      ) {
        this.#starving.delete(job.id);
        continue;
      }
      const looks = (this.#starving.get(job.id) ?? 0) + 1;
      this.#starving.set(job.id, looks);
      if (looks === looksMax) this.breach(`job ${job.id} waits for ${provider} although a worker is free`);
    }
  }

  /** The sums of the ledger are those of the attempts and ends of all jobs. */
  ledger(found: CostAmounts): void {
    let sum = noAmounts;
    for (const { life, state } of this.jobs.values()) {
      if (isTerminal(state) && life.attempts.length > 0) sum = addAmounts(sum, { ...noAmounts, jobs: 1 });
      for (const { outcome, usage, cost } of life.attempts) {
        if (outcome === null) continue;
        sum = addAmounts(sum, {
          ...noAmounts,
          attempts: 1,
          nanoDollars: cost.nanoDollars ?? 0,
          unknown: cost.status === 'unknown' ? 1 : 0,
          inputTokens: usage?.inputTokens ?? 0,
          outputTokens: usage?.outputTokens ?? 0,
        });
      }
    }
    for (const name of amountNames) {
      if (found[name] !== sum[name])
        this.breach(`the ledger has ${found[name]} ${name}, the attempts come to ${sum[name]}`);
    }
  }

  /** Nothing happens any more: every job has ended, and all that was acknowledged is there. */
  ended(): void {
    for (const job of this.jobs.values()) {
      if (!isTerminal(job.state)) this.breach(`job ${job.id} is ${job.state} and stays so`);
    }
    for (const [name, { told, id }] of this.#told) {
      if (told === 'ok' && this.#idByName.get(name) !== id)
        this.breach(`${name} was acknowledged as ${id} and is ${this.#idByName.get(name)}`);
    }
  }

  #keep(job: JobRecord): void {
    const known = this.jobs.get(job.id);
    if (known !== undefined) {
      this.#ready.delete(known);
      this.#running.delete(known);
    }
    this.jobs.set(job.id, job);
    if (job.version >= (this.#untold.get(job.id) ?? 0)) this.#untold.delete(job.id);
    if (job.state === 'pending.ready') this.#ready.set(job, laneOf(job));
    if (statusOf(job.state) === 'running') this.#running.add(job);
    for (const fault of faultsOfJob(job, (lease) => this.#runs.of(job.id, lease), this.#knobs.bounds))
      this.breach(`job ${job.id} ${fault}`);
    const name = job.request.metadata.name ?? '';
    const other = this.#idByName.get(name);
    if (other !== undefined && other !== job.id)
      this.breach(`${name} is there twice: ${other} and ${job.id}`);
    this.#idByName.set(name, job.id);
    if (this.#told.get(name)?.told === 'refused')
      this.breach(`${name} was refused and is there as ${job.id}`);
  }

  #isChanging(id: string): boolean {
    return this.#busy.has(id) || this.#untold.has(id);
  }

  #comesBefore(a: JobRecord, b: JobRecord): boolean {
    const place = ({ life }: JobRecord) =>
      life.enqueuedAt - (this.#knobs.config.jobs.priorities[life.priority] ?? 0) * 1000;
    return place(a) < place(b) || (place(a) === place(b) && a.ordinal < b.ordinal);
  }
}

/** Whether the jobs of a run wait. */
function isHeld({ state }: Pick<RunRecord, 'state'>): boolean {
  return state === 'paused' || state === 'cancelled';
}

/** As JSON carries it. */
function plain(job: JobRecord): unknown {
  return JSON.parse(JSON.stringify(job));
}
