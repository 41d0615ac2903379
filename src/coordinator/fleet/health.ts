import { createActor } from 'xstate';
import type { HealthEvent } from '../../../machines/events.ts';
import { healthMachine } from '../../../machines/healthMachine.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import { brief, type Failure, type Fault, faults, isPassing } from '../../domain/failure.ts';
import type { Refusal } from '../../domain/worker.ts';
import type { Deadline, Deadlines } from '../deadlines.ts';
import { type EventBus, pathOf } from '../eventBus.ts';
import { type Inspector, inspectOption } from '../observe/index.ts';
import type { Lease } from './leases.ts';

/** For how long a worker is passed over, and how many failures in a row it takes. */
interface Patience {
  /** The first time; twice as long after each that follows. */
  firstMs: number;
  mostMs: number;
  enough: number;
  /** Whether the fault is that of one model; else of all at the provider. */
  isOfModel: boolean;
}

/** Jobs wait for a server that is down, so it is asked again soon; a key is mended by people. */
const patience: Record<Fault, Patience> = {
  unreachable: { firstMs: 1_000, mostMs: 60_000, enough: 1, isOfModel: false },
  loading: { firstMs: 1_000, mostMs: 60_000, enough: 1, isOfModel: true },
  refused: { firstMs: 60_000, mostMs: 3_600_000, enough: 1, isOfModel: false },
  missing: { firstMs: 10_000, mostMs: 600_000, enough: 1, isOfModel: true },
  failing: { firstMs: 1_000, mostMs: 60_000, enough: 3, isOfModel: true },
};
/** A refused key is tried at a time that people can wait for; the others spread, so that workers do not ask as one. */
const jitterShare = 0.25;
/** Entries of one worker. Clients name models as they like; the oldest is forgotten. */
const entriesMax = 200;

/**
 * - `well`     takes jobs.
 * - `due`      takes one job, a trial.
 * - `waits`    cannot reach its provider now, or loads the model: jobs wait rather than go there.
 * - `refused`  passed over while another worker can take the job; else the job goes there, and fails in plain words.
 */
export type Standing = 'well' | 'due' | 'waits' | 'refused';

type HealthActor = ReturnType<typeof createActor<typeof healthMachine>>;

interface Entry {
  readonly actor: HealthActor;
  due: Deadline | null;
  /** Monotonic ms since which it is passed over: jobs that were sent before say nothing new. */
  since: number;
  /** The job of the trial under way. */
  trial: Lease | null;
}

/** What a lease says of its worker's health. */
type OfLease = Pick<Lease, 'provider' | 'model'>;

/** The health of one worker: at each provider, and at each model where that differs. */
export class Health {
  readonly #workerId: string;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #deadlines: Deadlines;
  readonly #bus: EventBus;
  readonly #inspector: Inspector | null;
  /** Called when a trial is due. */
  readonly #onDue: () => void;
  readonly #entries = new Map<string, Entry>();

  constructor(options: {
    workerId: string;
    clock: Clock;
    random: Random;
    deadlines: Deadlines;
    bus: EventBus;
    inspector: Inspector | null;
    onDue: () => void;
  }) {
    this.#workerId = options.workerId;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#deadlines = options.deadlines;
    this.#bus = options.bus;
    this.#inspector = options.inspector;
    this.#onDue = options.onDue;
  }

  /** An attempt failed by a fault of the worker. @returns what begins with it; null when nothing changes. */
  failed(lease: Lease, fault: Fault, failure: Failure): Refusal | null {
    const key = keyOf(lease, fault);
    const entry = this.#entries.get(key) ?? this.#add(key, lease, fault);
    if (isIn(entry, 'aside') || (!isIn(entry, 'well') && lease.assignedAt < entry.since)) return null;
    const { firstMs, mostMs, enough } = patience[fault];
    const at = this.#clock.now();
    const { inRow } = contextOf(entry);
    const forMs = Math.min(firstMs * 2 ** Math.min(inRow + 1 - enough, 20), mostMs);
    const share = fault === 'refused' ? 0 : jitterShare * this.#random.next();
    const until = at + Math.ceil(forMs * (1 - share));
    this.#send(entry, { type: 'health.failed', at, failure: brief(failure), enough, until });
    if (!isIn(entry, 'aside')) return null;
    entry.since = this.#clock.monotonic();
    entry.trial = null;
    this.#deadlines.clear(entry.due);
    entry.due = this.#deadlines.set(entry.since + until - at, () => {
      this.#send(entry, { type: 'health.due', at: this.#clock.now() });
      this.#onDue();
    });
    return refusalOf(entry);
  }

  /** An attempt got an answer. @returns whether that ends what was held against the worker. */
  succeeded(lease: OfLease): boolean {
    return this.#succeed(lease, faults);
  }

  #succeed(lease: OfLease, ended: readonly Fault[]): boolean {
    let isChanged = false;
    for (const [key, entry] of this.#of(lease)) {
      if (!ended.includes(contextOf(entry).fault)) continue;
      isChanged ||= !isIn(entry, 'well');
      this.#send(entry, { type: 'health.succeeded', at: this.#clock.now() });
      this.#drop(key, entry);
    }
    return isChanged;
  }

  /** Output of an attempt comes: the provider is reached and takes the job, however long the answer still takes. */
  streamed(lease: OfLease): boolean {
    return this.#succeed(
      lease,
      faults.filter((fault) => fault !== 'failing'),
    );
  }

  /** A job was given to the worker. @returns whether it is a trial, so that no other follows for now. */
  sent(lease: Lease): boolean {
    let isTrial = false;
    for (const [, entry] of this.#of(lease)) {
      if (!isIn(entry, 'due')) continue;
      this.#send(entry, { type: 'health.trialSent', at: this.#clock.now() });
      entry.trial = lease;
      isTrial = true;
    }
    return isTrial;
  }

  /** An attempt has ended. @returns whether it was a trial without a verdict; the next job is one again. */
  returned(lease: Lease): boolean {
    let wasTrial = false;
    for (const [, entry] of this.#of(lease)) {
      if (entry.trial !== lease) continue;
      entry.trial = null;
      this.#send(entry, { type: 'health.trialReturned', at: this.#clock.now() });
      wasTrial = true;
    }
    return wasTrial;
  }

  /** How the worker stands for a job of this provider and model. */
  standing(provider: string, model: string | null): Standing {
    if (this.#entries.size === 0) return 'well';
    let standing: Standing = 'well';
    for (const [, entry] of this.#of({ provider, model })) {
      if (isPassedOver(entry)) {
        if (isPassing(contextOf(entry).fault)) return 'waits';
        standing = 'refused';
      } else if (standing === 'well' && isIn(entry, 'due')) {
        standing = 'due';
      }
    }
    return standing;
  }

  /** Epoch ms of the next trial for such a job; null when it is not known or nothing is waited for. */
  until(provider: string, model: string | null): number | null {
    const times = [...this.#of({ provider, model })].map(([, entry]) => contextOf(entry).until ?? 0);
    const last = Math.max(0, ...times);
    return last === 0 ? null : last;
  }

  /** What is held against the worker for such a job. */
  heldFor(provider: string, model: string | null): Refusal[] {
    return [...this.#of({ provider, model })].flatMap(([, entry]) => refusalOf(entry) ?? []);
  }

  /** The worker says anew what models it has, so it reached its servers. @returns whether anything was held against it. */
  serverReached(): boolean {
    return this.#endThose(({ fault }) => fault !== 'refused');
  }

  /** @returns whether there was anything. */
  endAll(): boolean {
    return this.#endThose(() => true);
  }

  list(): Refusal[] {
    return [...this.#entries.values()].flatMap((entry) => refusalOf(entry) ?? []);
  }

  /** State of each entry. */
  states(): string[] {
    return [...this.#entries.values()].map(({ actor }) => pathOf(actor.getSnapshot().value));
  }

  close(): void {
    for (const { actor, due } of this.#entries.values()) {
      this.#deadlines.clear(due);
      actor.stop();
    }
  }

  #endThose(isMeant: (life: ReturnType<typeof contextOf>) => boolean): boolean {
    let isChanged = false;
    for (const [key, entry] of [...this.#entries]) {
      if (!isMeant(contextOf(entry))) continue;
      isChanged ||= !isIn(entry, 'well');
      this.#drop(key, entry);
    }
    return isChanged;
  }

  /** The entries that bear on a provider and model. */
  *#of(lease: OfLease): Generator<[key: string, entry: Entry]> {
    if (this.#entries.size === 0) return;
    for (const fault of faults) {
      const key = keyOf(lease, fault);
      const entry = this.#entries.get(key);
      if (entry !== undefined) yield [key, entry];
    }
  }

  #add(key: string, { provider, model }: OfLease, fault: Fault): Entry {
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size < entriesMax) break;
      this.#drop(oldest, entry);
    }
    const input = {
      workerId: this.#workerId,
      provider,
      model: patience[fault].isOfModel ? model : null,
      fault,
      at: this.#clock.now(),
    };
    const actor = createActor(healthMachine, {
      input,
      ...inspectOption(this.#inspector, 'health', this.#idOf(input)),
    }).start();
    const entry: Entry = { actor, due: null, since: 0, trial: null };
    this.#entries.set(key, entry);
    return entry;
  }

  #drop(key: string, { actor, due }: Entry): void {
    this.#deadlines.clear(due);
    actor.stop();
    this.#entries.delete(key);
  }

  #send({ actor }: Entry, event: HealthEvent): void {
    const before = actor.getSnapshot().value;
    actor.send(event);
    const { value: after, context } = actor.getSnapshot();
    this.#bus.handled('health', this.#idOf(context), { before, after, event: event.type, at: event.at });
  }

  #idOf({ provider, model, fault }: { provider: string; model: string | null; fault: Fault }): string {
    return [this.#workerId, provider, fault, ...(model === null ? [] : [model])].join(' ');
  }
}

function keyOf({ provider, model }: OfLease, fault: Fault): string {
  return patience[fault].isOfModel ? JSON.stringify([fault, provider, model]) : `${fault} ${provider}`;
}

function contextOf({ actor }: Entry) {
  return actor.getSnapshot().context;
}

function isIn({ actor }: Entry, state: 'well' | 'aside' | 'due' | 'trying'): boolean {
  return actor.getSnapshot().value === state;
}

function isPassedOver({ actor }: Entry): boolean {
  return actor.getSnapshot().hasTag('passedOver');
}

/** null while it is well. */
function refusalOf(entry: Entry): Refusal | null {
  const { provider, model, fault, failure, at, until, inRow } = contextOf(entry);
  if (failure === null || isIn(entry, 'well')) return null;
  return { provider, model, fault, failure, at, until, inRow };
}
