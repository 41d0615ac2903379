import { createActor } from 'xstate';
import { supervisorMachine } from '../../machines/supervisorMachine.ts';
import type { Config } from '../config/config.ts';
import type { Pricing } from '../cost/pricing.ts';
import type { Clock, Random } from '../domain/clock.ts';
import type { QueueState } from '../domain/queue.ts';
import type { Vitals } from '../domain/stats.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { Audit } from './audit.ts';
import { Changes } from './changes.ts';
import { Deadlines } from './deadlines.ts';
import { Candidates, Dispatcher, WaitingReasons } from './dispatch/index.ts';

import { Retention, WorkerRetention } from './duties/index.ts';

import { EventBus } from './eventBus.ts';
import { LeaseKeeper, Leases, Liveness, RefusedWorkers, type WorkerSession, Workers } from './fleet/index.ts';

import {
  Admission,
  Delays,
  Intake,
  JobCommands,
  JobHost,
  JobWaits,
  Outcomes,
  Pending,
} from './jobs/index.ts';

import { ProviderHolds, Providers } from './limits/index.ts';

import { Activity, Course, Inspector, inspectOption } from './observe/index.ts';

import { QueueSwitch } from './queueSwitch.ts';

/** What a coordinator is made with. */
export interface CoordinatorOptions {
  config: () => Config;
  store: Store;
  clock: Clock;
  random: Random;
  logger: Logger;
  pricing: Pricing;
  /** What the process says of itself; null in the figures without it. */
  vitals?: (() => Vitals) | undefined;
  /** Whether the process has memory for more jobs; it always has without it. */
  hasRoom?: (() => boolean) | undefined;
  /** Have every event of every actor seen, for maintainers. */
  inspects?: boolean | undefined;
  /** Idempotency keys of one API key that are remembered; 1,000,000 unless told. */
  idempotencyKeysMax?: number | undefined;
}

/** What its parts tell the coordinator. */
export interface PartsHost {
  /** A slot has become free. */
  slotFreed(): void;
  /** The queue was paused or resumed. */
  queueChanged(state: QueueState): void;
  /** The event loop stood still for this long, ms. */
  stalled(lateMs: number): void;
  /** A worker has been silent for too long. */
  workerGone(session: WorkerSession): void;
}

export type Parts = ReturnType<typeof createParts>;

/** Make the parts of a coordinator and let each know those that it works with. Nothing is started or opened yet. */
export function createParts(options: CoordinatorOptions, told: PartsHost) {
  const { config, store, clock, random, logger, pricing } = options;
  const inspector = options.inspects === true ? new Inspector({ clock, logger }) : null;
  const supervisor = createActor(supervisorMachine, inspectOption(inspector, 'supervisor', 'supervisor'));
  const isAccepting = () => supervisor.getSnapshot().hasTag('dispatching');
  const isAssigning = () => supervisor.getSnapshot().hasTag('assigning');
  const bus = new EventBus((error) => logger.error({ err: error }, 'a listener failed'));
  const deadlines = new Deadlines(clock, (lateMs) => told.stalled(lateMs));
  const leases = new Leases();
  const audit = new Audit({ store, clock, deadlines, logger });
  const queue: QueueSwitch = new QueueSwitch({
    store,
    audit,
    clock,
    logger,
    onChanged: (state) => told.queueChanged(state),
    onReleased: () => dispatcher.kick(),
  });
  const refusedWorkers = new RefusedWorkers(clock);
  const workers = new Workers({
    store,
    audit,
    clock,
    random,
    bus,
    deadlines,
    leases,
    logger,
    inspector,
    onNeeded: () => dispatcher.kick(),
    onWell: (names) => {
      for (const name of names) providers.workerCame(name);
    },
  });
  const providers: Providers = new Providers({
    config,
    clock,
    random,
    deadlines,
    logger,
    bus,
    leases,
    inspector,
    holds: new ProviderHolds({ store, clock, deadlines, logger }),
    fleet: (provider) => workers.fleetOf(provider),
    ableWorkers: (provider, model) => workers.ableFor(provider, model),
    onAvailable: () => dispatcher.kick(),
  });
  const host = new JobHost({
    clock,
    store,
    logger,
    inspector,
    onCommitted: (committed) => changes.publish(committed),
  });
  const outcomes = new Outcomes({
    config,
    clock,
    random,
    host,
    providers,
    pricing,
    others: (life) => candidates.others(life),
    isFree: (workerId, provider) => workers.session(workerId)?.free.has(provider) === true,
    letGo: (ref, workerId) => keeper.letGo(ref, workerId),
  });
  const keeper = new LeaseKeeper({
    config,
    clock,
    deadlines,
    leases,
    host,
    workers,
    providers,
    costUntold: (job) => outcomes.costUntold(job),
    logger,
    onFree: () => told.slotFreed(),
  });
  const candidates = new Candidates({ leases, providers, workers, priceOf: pricing.comparablePrice });
  const dispatcher: Dispatcher = new Dispatcher({
    clock,
    store,
    host,
    candidates,
    keeper,
    workers,
    providers,
    isAssigning: () => isAssigning() && !queue.isPausing,
    logger,
  });
  const pending = new Pending();
  const hasRoom = options.hasRoom ?? (() => true);
  const delays = new Delays({ clock, deadlines, host, logger });
  const activity = new Activity(clock);
  const changes = new Changes({
    logger,
    core: [
      (change) => pending.follow(change),
      (change) => keeper.follow(change),
      ({ after }) => delays.follow(after),
      ({ after: { id, state } }) => {
        // One that was claimed while it was created needs no pass.
        if (state === 'pending.ready' && leases.ofJob(id) === undefined) dispatcher.kick();
      },
    ],
    observers: [(change) => activity.follow(change), (change) => bus.follow(change)],
  });
  return {
    inspector,
    supervisor,
    bus,
    deadlines,
    audit,
    queue,
    refusedWorkers,
    leases,
    workers,
    providers,
    host,
    pending,
    intake: new Intake({
      config,
      clock,
      random,
      store,
      host,
      dispatcher,
      admission: new Admission({ config, pending, isDispatching: isAccepting, hasRoom }),
      idempotencyKeysMax: options.idempotencyKeysMax,
    }),
    changes,
    delays,
    retention: new Retention({ config, clock, deadlines, store, host, isAccepting, logger }),
    workerRetention: new WorkerRetention({ clock, deadlines, workers, bus, logger }),
    outcomes,
    commands: new JobCommands({ config, clock, store, host, outcomes }),
    waits: new JobWaits({ clock, bus }),
    keeper,
    candidates,
    dispatcher,
    liveness: new Liveness({
      clock,
      deadlines,
      workers,
      onGone: (session) => told.workerGone(session),
    }),
    waiting: new WaitingReasons({
      candidates,
      leases,
      providers,
      workers,
      refusedWorkers,
      queue: () => queue.state,
      isAssigning,
    }),
    activity,
    course: new Course({ clock, activity, counts: () => store.counts() }),
  };
}
