import { type Actor, createActor } from 'xstate';
import type { SupervisorEvent } from '../../../machines/events.ts';
import { pathsOf } from '../../../machines/statePath.ts';
import { supervisorMachine } from '../../../machines/supervisorMachine.ts';
import type { Clock } from '../../domain/clock.ts';
import type { SupervisorStatus } from '../../domain/states.ts';
import type { Logger } from '../../lib/log.ts';
import type { EventBus } from './eventBus.ts';
import { type Inspector, inspectOption } from './inspector.ts';
import { storeRetryMs } from './storeRetry.ts';

/** What the supervisor has done when its machine says so. */
export interface Orders {
  /** Hand out what can be handed out now. Rejects when the store refuses it; nothing of it has happened then. */
  pass(): Promise<void>;
  /** Whether any job waits, so that a free slot is of use. Cheap. */
  hasWork(): boolean;
  /** Run every deadline that is due. */
  sweep(): void;
  /** The process stood still for `lateMs`: what is late is so because of that. */
  giveGrace(lateMs: number): void;
}

/**
 * Hosts the supervisor's actor. Parts of the coordinator send it what has happened; its machine decides when jobs are handed
 * out and when deadlines are looked at, and its actions carry out the orders.
 */
export class Supervisor {
  readonly #clock: Clock;
  readonly #bus: EventBus;
  readonly #logger: Logger;
  readonly #actor: Actor<typeof supervisorMachine>;
  #orders: Orders | null = null;
  /** Whether an event is being handled: what its actions send comes after it. */
  #isSending = false;
  /** Whether the machine knows that there is work since the last pass began: many jobs of one turn are one event. */
  #isAnnounced = false;
  readonly #slotListeners = new Set<() => void>();
  /** The end of the last pass, which never rejects. */
  #pass: Promise<void> = Promise.resolve();

  constructor(options: { clock: Clock; logger: Logger; inspector: Inspector | null; bus: EventBus }) {
    const { clock } = options;
    this.#clock = clock;
    this.#bus = options.bus;
    this.#logger = options.logger;
    const machine = supervisorMachine.provide({
      actions: {
        startPass: () => this.#startPass(),
        startPause: () => {
          clock.after(storeRetryMs, () => this.#send({ type: 'retry.due' }));
        },
        startSweep: () => {
          this.#orders?.sweep();
          this.#send({ type: 'sweep.ended' });
        },
        giveGrace: ({ event }) => {
          if ('lateMs' in event) this.#orders?.giveGrace(event.lateMs);
        },
      },
    });
    this.#actor = createActor(machine, inspectOption(options.inspector, 'supervisor', 'supervisor'));
  }

  /** Begin. Nothing is passed or swept before. */
  start(orders: Orders): void {
    this.#orders = orders;
    this.#actor.start();
    this.#send({ type: 'supervisor.open' });
  }

  /** The store is open and every lease is taken up. */
  recovered(paused: boolean): void {
    this.#send({ type: 'supervisor.recovered', paused });
  }

  /** Hand out no more jobs from now on. */
  pause(): void {
    this.#send({ type: 'supervisor.pause' });
  }

  resume(): void {
    // A pass that the pause met has left jobs alone: there is another one when it ends.
    this.workArrived();
    this.#send({ type: 'supervisor.resume' });
  }

  drain(): void {
    this.#send({ type: 'supervisor.drain' });
  }

  stop(): void {
    this.#send({ type: 'supervisor.stop' });
  }

  /** Something has changed that may let a job start. Cheap; calls that come close together share a pass. */
  workArrived(): void {
    this.#announce('work.arrived');
  }

  /** A worker may take one more job. As cheap. */
  slotFreed(): void {
    // A job that comes later announces itself.
    if (this.#orders?.hasWork() !== false) this.#announce('slot.freed');
    for (const listener of this.#slotListeners) listener();
  }

  /** Call `listener` whenever a slot is freed. The returned function ends that. */
  onSlotFreed(listener: () => void): () => void {
    this.#slotListeners.add(listener);
    return () => this.#slotListeners.delete(listener);
  }

  /** The timer of the earliest deadline has run, `lateMs` later than it was set to. */
  deadlineReached(lateMs: number): void {
    this.#send({ type: 'deadline.reached', lateMs });
  }

  /** This process stood still for `lateMs`, and that was noticed before the timer ran. */
  stallNoticed(lateMs: number): void {
    this.#send({ type: 'stall.noticed', lateMs });
  }

  get status(): SupervisorStatus {
    return this.#actor.getSnapshot().value.admission;
  }

  /** Every state that it is in, by path, one a region. */
  get states(): string[] {
    return pathsOf(this.#actor.getSnapshot().value);
  }

  /** Whether jobs are accepted. */
  get isAccepting(): boolean {
    return this.#actor.getSnapshot().hasTag('dispatching');
  }

  /** Whether jobs are handed out. */
  get isAssigning(): boolean {
    return this.#actor.getSnapshot().hasTag('assigning');
  }

  /** Whether a pass is under way or due. Without one, nothing has changed since the last pass that lets a job start. */
  get isPassing(): boolean {
    return this.#isAnnounced || this.#actor.getSnapshot().value.assigning !== 'idle';
  }

  /** Resolves when no pass is under way. */
  async idle(): Promise<void> {
    while (this.#actor.getSnapshot().value.assigning === 'passing') await this.#pass;
  }

  #announce(type: 'work.arrived' | 'slot.freed'): void {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    // While a pass is under way, its end reports that there is more.
    if (this.#actor.getSnapshot().value.assigning !== 'passing') queueMicrotask(() => this.#send({ type }));
  }

  #startPass(): void {
    this.#isAnnounced = false;
    if (this.#orders === null) return;
    this.#pass = this.#orders.pass().then(
      () => this.#send({ type: 'pass.ended', hasMore: this.#isAnnounced }),
      (error: unknown) => {
        this.#logger.error({ err: error }, 'no job could be assigned; trying again');
        this.#send({ type: 'pass.failed' });
      },
    );
  }

  #send(event: SupervisorEvent): void {
    const { status, value: before } = this.#actor.getSnapshot();
    if (status !== 'active') return;
    if (this.#isSending) {
      this.#actor.send(event);
      return;
    }
    this.#isSending = true;
    this.#actor.send(event);
    this.#isSending = false;
    // What a sweep passes through within one event is nothing that anybody could see.
    const { value: after } = this.#actor.getSnapshot();
    if (after !== before) {
      const at = this.#clock.now();
      this.#bus.handled('supervisor', 'supervisor', { before, after, event: event.type, at });
    }
  }
}
