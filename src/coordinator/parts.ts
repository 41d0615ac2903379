import type { Config } from '../config/config.ts';
import type { Pricing } from '../cost/pricing.ts';
import type { Clock, Random } from '../domain/clock.ts';
import type { Vitals } from '../domain/stats.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { Audit } from './audit.ts';
import { Changes } from './changes.ts';
import { Deadlines } from './deadlines.ts';
import { Candidates, Dispatcher, WaitingReasons } from './dispatch/index.ts';

import { Retention, WorkerRetention } from './duties/index.ts';

import { EventBus } from './eventBus.ts';
import { Connections, createFleet, LeaseKeeper, Leases, Liveness, RefusedWorkers } from './fleet/index.ts';

import {
  Admission,
  Delays,
  Intake,
  JobCommands,
  JobHost,
  JobWaits,
  Outcomes,
  Pending,
  uuidv7,
} from './jobs/index.ts';

import { ProviderHolds, Providers } from './limits/index.ts';

import { Activity, Course, Inspector, inspectOption, Reports } from './observe/index.ts';

import { QueueSwitch } from './queueSwitch.ts';
import { Supervisor } from './supervisor.ts';

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

export type Parts = ReturnType<typeof createParts>;

/** Make the parts of a coordinator and let each know those that it works with. Nothing is started or opened yet. */
export function createParts(options: CoordinatorOptions) {
  const { config, store, clock, random, logger, pricing } = options;
  const inspector = options.inspects === true ? new Inspector({ clock, logger }) : null;
  const bus = new EventBus((error) => logger.error({ err: error }, 'a listener failed'));
  const supervisor = new Supervisor({ clock, logger, inspector, bus });
  const deadlines = new Deadlines(clock, supervisor);
  const leases = new Leases(({ jobId, lease, phase }, before, event) =>
    bus.handled('lease', `${jobId} ${lease}`, { before, after: phase, event, at: clock.now() }),
  );
  const audit = new Audit({ store, clock, deadlines, logger });
  const queue = new QueueSwitch({ store, audit, clock, logger, supervisor, bus });
  const refusedWorkers = new RefusedWorkers(clock);
  const { workers, registration, workerAdmin, signals } = createFleet({
    store,
    audit,
    clock,
    random,
    bus,
    deadlines,
    leases,
    logger,
    listener: {
      needed: () => supervisor.workArrived(),
      well: (names) => {
        for (const name of names) providers.workerCame(name);
      },
    },
    inspect: (machine, id) => inspectOption(inspector, machine, id),
    newId: () => uuidv7(clock, random),
  });
  const providers: Providers = new Providers({
    config,
    clock,
    random,
    deadlines,
    logger,
    bus,
    holds: new ProviderHolds({ store, clock, deadlines, logger }),
    workers: {
      underWay: (provider) => leases.ofProvider(provider),
      fleetOf: (provider) => workers.fleetOf(provider),
      ableFor: (provider, model) => workers.ableFor(provider, model),
    },
    onAvailable: () => supervisor.workArrived(),
    inspect: (name) => inspectOption(inspector, 'provider', name),
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
    signals,
    providers,
    costUnreported: (job) => outcomes.costUnreported(job),
    logger,
    onFree: () => supervisor.slotFreed(),
  });
  const candidates = new Candidates({ leases, providers, workers, priceOf: pricing.comparablePrice });
  const dispatcher = new Dispatcher({
    clock,
    store,
    host,
    candidates,
    keeper,
    workers,
    providers,
    supervisor,
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
        if (state === 'pending.ready' && leases.ofJob(id) === undefined) supervisor.workArrived();
      },
    ],
    observers: [(change) => activity.follow(change), (change) => bus.follow(change)],
  });
  const connections = new Connections({
    config,
    clock,
    deadlines,
    workers,
    registration,
    signals,
    keeper,
    outcomes,
    leases,
    providers,
    liveness: new Liveness({ clock, deadlines, signals }),
    dispatcher,
    supervisor,
    bus,
    audit,
    refusedWorkers,
    logger,
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
    registration,
    workerAdmin,
    signals,
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
      admission: new Admission({ config, pending, isDispatching: () => supervisor.isAccepting, hasRoom }),
      idempotencyKeysMax: options.idempotencyKeysMax,
    }),
    changes,
    delays,
    retention: new Retention({
      config,
      clock,
      deadlines,
      store,
      host,
      isAccepting: () => supervisor.isAccepting,
      logger,
    }),
    workerRetention: new WorkerRetention({ clock, deadlines, workers: workerAdmin, bus, logger }),
    outcomes,
    commands: new JobCommands({ config, clock, store, host, outcomes }),
    waits: new JobWaits({ clock, bus }),
    keeper,
    candidates,
    dispatcher,
    connections,
    waiting: new WaitingReasons({
      candidates,
      leases,
      providers,
      workers,
      refusedWorkers,
      queue: () => queue.state,
      isAssigning: () => supervisor.isAssigning,
    }),
    reports: new Reports({
      store,
      clock,
      leases,
      workers,
      providers,
      activity,
      refusedWorkers,
      queue,
      supervisor,
      startedAt: clock.monotonic(),
      vitals: options.vitals,
    }),
    course: new Course({ clock, activity, counts: () => store.counts() }),
  };
}
