import { type ActorOptions, createActor } from 'xstate';
import type { HealthEvent } from '../../../machines/events.ts';
import { type HealthLife, isOfModel } from '../../../machines/healthLife.ts';
import { healthMachine } from '../../../machines/healthMachine.ts';
import { pathOf } from '../../../machines/statePath.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import { type Failure, type Fault, faults, isPassing } from '../../domain/failure.ts';
import type { LeaseRef } from '../../domain/job.ts';
import type { Refusal } from '../../domain/worker.ts';
import type { Deadline, Deadlines, EventBus } from '../core/index.ts';
import type { Lease } from './leases.ts';

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
  /** How the actor of a fault is observed. */
  readonly #inspect: (id: string) => Pick<ActorOptions<typeof healthMachine>, 'inspect'>;
  /** Called when a trial is due. */
  readonly #onDue: () => void;
  readonly #entries = new Map<string, Entry>();

  constructor(options: {
    workerId: string;
    clock: Clock;
    random: Random;
    deadlines: Deadlines;
    bus: EventBus;
    inspect: (id: string) => Pick<ActorOptions<typeof healthMachine>, 'inspect'>;
    onDue: () => void;
  }) {
    this.#workerId = options.workerId;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#deadlines = options.deadlines;
    this.#bus = options.bus;
    this.#inspect = options.inspect;
    this.#onDue = options.onDue;
  }

  /** An attempt failed by a fault of the worker. @returns what begins with it; null when nothing changes. */
  failed(lease: Lease, fault: Fault, failure: Failure): Refusal | null {
    const key = keyOf(lease, fault);
    const entry = this.#entries.get(key) ?? this.#add(key, lease, fault);
    const at = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    const isChanged = this.#send(entry, {
      type: 'health.failed',
      at,
      monotonic,
      began: lease.assignedAt,
      failure,
      jitter: this.#random.next(),
    });
    const { until } = lifeOf(entry);
    if (!isChanged || until === null) return null;
    this.#deadlines.clear(entry.due);
    entry.due = this.#deadlines.set(monotonic + until - at, () => {
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
      if (!ended.includes(lifeOf(entry).fault)) continue;
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
      if (this.#send(entry, { type: 'health.trialSent', at: this.#clock.now(), ...refOf(lease) }))
        isTrial = true;
    }
    return isTrial;
  }

  /** An attempt has ended. @returns whether it was a trial without a verdict; the next job is one again. */
  returned(lease: Lease): boolean {
    let wasTrial = false;
    for (const [, entry] of this.#of(lease)) {
      if (this.#send(entry, { type: 'health.trialReturned', at: this.#clock.now(), ...refOf(lease) }))
        wasTrial = true;
    }
    return wasTrial;
  }

  /** Whether the worker may take a job of this provider and model. */
  standing(provider: string, model: string | null): Standing {
    if (this.#entries.size === 0) return 'well';
    let standing: Standing = 'well';
    for (const [, entry] of this.#of({ provider, model })) {
      if (isPassedOver(entry)) {
        if (isPassing(lifeOf(entry).fault)) return 'waits';
        standing = 'refused';
      } else if (standing === 'well' && isIn(entry, 'due')) {
        standing = 'due';
      }
    }
    return standing;
  }

  /** Epoch ms of the next trial for such a job; null when it is not known or nothing is waited for. */
  until(provider: string, model: string | null): number | null {
    const times = [...this.#of({ provider, model })].map(([, entry]) => lifeOf(entry).until ?? 0);
    const last = Math.max(0, ...times);
    return last === 0 ? null : last;
  }

  /** What is held against the worker for such a job. */
  heldFor(provider: string, model: string | null): Refusal[] {
    return [...this.#of({ provider, model })].flatMap(([, entry]) => refusalOf(entry) ?? []);
  }

  /** The worker says again what models it has, so it reached its servers. @returns whether anything was held against it. */
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

  #endThose(isMeant: (life: HealthLife) => boolean): boolean {
    let isChanged = false;
    for (const [key, entry] of [...this.#entries]) {
      if (!isMeant(lifeOf(entry))) continue;
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
      model: isOfModel(fault) ? model : null,
      fault,
      at: this.#clock.now(),
    };
    const actor = createActor(healthMachine, {
      input,
      ...this.#inspect(this.#idOf(input)),
    }).start();
    const entry: Entry = { actor, due: null };
    this.#entries.set(key, entry);
    return entry;
  }

  #drop(key: string, { actor, due }: Entry): void {
    this.#deadlines.clear(due);
    actor.stop();
    this.#entries.delete(key);
  }

  /** @returns whether its state accepted the event. */
  #send({ actor }: Entry, event: HealthEvent): boolean {
    const before = actor.getSnapshot();
    actor.send(event);
    const now = actor.getSnapshot();
    if (now === before) return false;
    const change = { before: before.value, after: now.value, event: event.type, at: event.at };
    this.#bus.handled('health', this.#idOf(now.context), change);
    return true;
  }

  #idOf({ provider, model, fault }: { provider: string; model: string | null; fault: Fault }): string {
    return [this.#workerId, provider, fault, ...(model === null ? [] : [model])].join(' ');
  }
}

function keyOf({ provider, model }: OfLease, fault: Fault): string {
  return isOfModel(fault) ? JSON.stringify([fault, provider, model]) : `${fault} ${provider}`;
}

function refOf({ jobId, lease }: Lease): LeaseRef {
  return { jobId, lease };
}

function lifeOf({ actor }: Entry): HealthLife {
  return actor.getSnapshot().context;
}

function isIn({ actor }: Entry, state: 'well' | 'due'): boolean {
  return actor.getSnapshot().value === state;
}

function isPassedOver({ actor }: Entry): boolean {
  return actor.getSnapshot().hasTag('passedOver');
}

/** null while it is well. */
function refusalOf(entry: Entry): Refusal | null {
  const { provider, model, fault, failure, at, until, inRow } = lifeOf(entry);
  if (failure === null || isIn(entry, 'well')) return null;
  return { provider, model, fault, failure, at, until, inRow };
}
