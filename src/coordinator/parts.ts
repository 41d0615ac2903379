import type { Config } from '../config/config.ts';
import type { Pricing } from '../cost/pricing.ts';
import type { Clock, Random } from '../domain/clock.ts';
import type { Vitals } from '../domain/stats.ts';
import type { Logger } from '../lib/log.ts';
import type { SchemaChecks } from '../lib/schemaChecks.ts';
import type { Store } from '../store/store.ts';
import { Audit, Changes, Deadlines, EventBus, Inspector, inspectOption, Supervisor } from './core/index.ts';
import { Candidates, Dispatcher, WaitingReasons } from './dispatch/index.ts';
import { Retention, WorkerRetention } from './duties/index.ts';
import {
  Connections,
  createFleet,
  FleetChanges,
  LeaseKeeper,
  Leases,
  Liveness,
  RefusedWorkers,
} from './fleet/index.ts';
import {
  Admission,
  AttemptCosts,
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
import { Activity, Course } from './observe/index.ts';
import { QueueSwitch } from './queueSwitch.ts';
import {
  RunBook,
  RunBudget,
  RunChecks,
  RunCommands,
  RunHost,
  RunIntake,
  Runs,
  RunWatch,
} from './runs/index.ts';

/** What a coordinator is made with. */
export interface CoordinatorOptions {
  config: () => Config;
  store: Store;
  clock: Clock;
  random: Random;
  logger: Logger;
  pricing: Pricing;
  /** Hold the answers of runs against their schemas. */
  checks: SchemaChecks;
  /** What the process says of itself; null in the figures without it. */
  vitals?: (() => Vitals) | undefined;
  /** Whether the process has memory for more jobs; it always has without it. */
  hasRoom?: (() => boolean) | undefined;
  /** Have every event of every actor seen, for maintainers. */
  inspects?: boolean | undefined;
  /** Idempotency keys of one API key that are remembered; 1,000,000 by default. */
  idempotencyKeysMax?: number | undefined;
}

/** Everything that a coordinator is made of. */
export type Parts = ReturnType<typeof createParts>;

type Core = ReturnType<typeof createCore>;
type Rooms = ReturnType<typeof createRooms>;

/**
 * Make the parts of a coordinator, each after those that it works with, and declare who follows which feed. Nothing is started
 * or opened yet.
 */
export function createParts(options: CoordinatorOptions) {
  const core = createCore(options);
  const rooms = createRooms(options, core);
  followChanges(core, rooms);
  return { ...core, ...rooms, ...createDoors(options, core, rooms) };
}

/** What every room is built on, and what no room owns alone. */
function createCore({ inspects, store, clock, logger }: CoordinatorOptions) {
  const inspector = inspects === true ? new Inspector({ clock, logger }) : null;
  const bus = new EventBus((error) => logger.error({ err: error }, 'a listener failed'));
  const supervisor = new Supervisor({ clock, logger, inspector, bus });
  const deadlines = new Deadlines(clock, supervisor);
  const audit = new Audit({ store, clock, deadlines, logger });
  return {
    inspector,
    bus,
    supervisor,
    deadlines,
    audit,
    changes: new Changes(logger),
    queue: new QueueSwitch({ store, audit, clock, logger, supervisor, bus }),
    activity: new Activity(clock),
    pending: new Pending(),
    runs: new RunBook(clock),
    refusedWorkers: new RefusedWorkers(clock),
  };
}

/** The rooms, from what knows no other to what knows them all: fleet and limits, jobs, leases, dispatch. */
function createRooms(options: CoordinatorOptions, core: Core) {
  const { config, store, clock, random, logger, pricing } = options;
  const { inspector, bus, supervisor, deadlines, audit, changes, runs } = core;
  const leases = new Leases(({ jobId, lease, phase }, before, event) =>
    bus.handled('lease', `${jobId} ${lease}`, { before, after: phase, event, at: clock.now() }),
  );
  const fleetChanges = new FleetChanges();
  const fleet = createFleet({
    store,
    audit,
    clock,
    random,
    bus,
    deadlines,
    leases,
    logger,
    listener: fleetChanges,
    inspect: (machine, id) => inspectOption(inspector, machine, id),
    newId: () => uuidv7(clock, random),
  });
  const { workers, signals } = fleet;
  const providers = new Providers({
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
  const host = new JobHost({ clock, store, logger, inspector, changes });
  const isFree = (workerId: string, provider: string) =>
    workers.session(workerId)?.free.has(provider) === true;
  const costs = new AttemptCosts({ clock, pricing, isFree });
  const leaseParts = { config, clock, deadlines, leases, host, workers, signals, providers, costs };
  const keeper = new LeaseKeeper({ ...leaseParts, logger, supervisor });
  const candidates = new Candidates({ leases, providers, workers, priceOf: pricing.comparablePrice });
  const commands = new JobCommands({ config, clock, store, host, costs });
  const runHost = new RunHost({ clock, store, book: runs, bus, inspector });
  const runParts = { clock, deadlines, supervisor, store, book: runs, host: runHost, logger };
  const runWatch = new RunWatch({ ...runParts, commands });
  const exhausted = runWatch.exhausted.bind(runWatch);
  const budget = new RunBudget({ clock, book: runs, pricing, isFree, exhausted });
  const dispatchParts = { clock, store, host, candidates, keeper, workers, providers, supervisor, budget };
  return {
    leases,
    ...fleet,
    fleetChanges,
    providers,
    host,
    costs,
    keeper,
    candidates,
    dispatcher: new Dispatcher(dispatchParts),
    delays: new Delays({ clock, deadlines, host, logger }),
    commands,
    runHost,
    runWatch,
    budget,
  };
}

/** What happens after a commit, and after a change in the fleet: the lists of followers, in their order. */
function followChanges(
  { changes, supervisor, activity, bus, pending }: Core,
  { fleetChanges, leases, keeper, delays, providers, runWatch }: Rooms,
): void {
  changes.followedBy({
    core: [
      (change) => pending.follow(change),
      (change) => runWatch.follow(change),
      (change) => keeper.follow(change),
      ({ after }) => delays.follow(after),
      ({ after: { id, state } }) => {
        // A job that was claimed by its creation needs no pass.
        if (state === 'pending.ready' && leases.ofJob(id) === undefined) supervisor.workArrived();
      },
    ],
    observers: [(change) => activity.follow(change), (change) => bus.follow(change)],
  });
  fleetChanges.followedBy({
    needed: () => supervisor.workArrived(),
    well: (names) => {
      for (const name of names) providers.workerCame(name);
    },
  });
}

/** What those outside come in by: jobs, commands, connections of workers, figures; and the duties that run by themselves. */
function createDoors(options: CoordinatorOptions, core: Core, rooms: Rooms) {
  const { config, store, clock, random, logger, vitals, idempotencyKeysMax } = options;
  const { bus, supervisor, deadlines, pending, activity, audit, runs: book } = core;
  const { host, keeper, candidates, dispatcher, workerAdmin, signals, commands, runHost, runWatch } = rooms;
  const isAccepting = () => supervisor.isAccepting;
  const hasRoom = options.hasRoom ?? (() => true);
  const admission = new Admission({ config, pending, isDispatching: isAccepting, hasRoom });
  const runChecks = new RunChecks({ store, book, checks: options.checks });
  const outcomes = new Outcomes({
    config,
    clock,
    random,
    ...rooms,
    others: (life) => candidates.others(life),
    outputFault: (jobId, output) => runChecks.faultIn(jobId, output),
    letGo: (ref, workerId) => keeper.letGo(ref, workerId),
  });
  const liveness = new Liveness({ clock, deadlines, signals });
  const intake = new Intake({
    config,
    clock,
    random,
    store,
    host,
    dispatcher,
    admission,
    idempotencyKeysMax,
  });
  const runParts = {
    clock,
    random,
    store,
    audit,
    supervisor,
    book,
    host: runHost,
    watch: runWatch,
    checks: runChecks,
  };
  return {
    intake,
    outcomes,
    runDoor: new Runs({
      store,
      book,
      runIntake: new RunIntake({ clock, store, book, host: runHost, intake }),
      runCommands: new RunCommands({ ...runParts, commands }),
    }),
    waits: new JobWaits({ clock, bus }),
    connections: new Connections({ config, clock, logger, ...core, ...rooms, outcomes, liveness }),
    waiting: new WaitingReasons({ ...core, ...rooms }),
    retention: new Retention({ config, clock, deadlines, store, host, isAccepting, logger }),
    workerRetention: new WorkerRetention({ clock, deadlines, workers: workerAdmin, bus, logger }),
    figures: { store, clock, ...core, ...rooms, startedAt: clock.monotonic(), vitals },
    course: new Course({ clock, activity, counts: () => store.counts() }),
  };
}
