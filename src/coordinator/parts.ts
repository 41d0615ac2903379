import type { Config } from '../config/config.ts';
import type { Pricing } from '../cost/pricing.ts';
import type { BatchRequest } from '../domain/batch.ts';
import type { Clock, Random } from '../domain/clock.ts';
import type { JobRequest } from '../domain/job.ts';
import type { Vitals } from '../domain/stats.ts';
import type { WebhookSender } from '../domain/webhook.ts';
import type { Logger } from '../lib/log.ts';
import type { SchemaChecks } from '../lib/schemaChecks.ts';
import type { Blobs } from '../store/blobs.ts';
import type { Store } from '../store/store.ts';
import { Batches, BatchHost, BatchWatch } from './batches/index.ts';
import { Audit, Changes, Deadlines, EventBus, Inspector, inspectOption, Supervisor } from './core/index.ts';
import { Candidates, Dispatcher, WaitingReasons } from './dispatch/index.ts';
import { Retention, WorkerRetention } from './duties/index.ts';
import { FileExpiry, FileRoom, FileShelf } from './files/index.ts';
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
  Annotations,
  AttemptCosts,
  Delays,
  Intake,
  JobCommands,
  JobHost,
  JobWaits,
  Outcomes,
  Pending,
  planOrRefuse,
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
import { Spools } from './spools/index.ts';
import { Courier, Notices, Outbox, WebhookBook, WebhookKeeper, Webhooks } from './webhooks/index.ts';

/** What a coordinator is made with. */
export interface CoordinatorOptions {
  config: () => Config;
  store: Store;
  /** Where the bytes of files are. */
  blobs: Blobs;
  clock: Clock;
  random: Random;
  logger: Logger;
  pricing: Pricing;
  /** Sends messages to webhooks. */
  webhookSender: WebhookSender;
  /** Hold the answers of runs against their schemas. */
  checks: SchemaChecks;
  /** What the process says of itself; null in the figures without it. */
  vitals?: (() => Vitals) | undefined;
  /** Whether the process has memory for more jobs; it always has without it. */
  hasRoom?: (() => boolean) | undefined;
  /** Told when the first batch is begun and when the last one has ended: nobody waits for them, so memory counts more than speed. */
  onBatches?: ((areUnderWay: boolean) => void) | undefined;
  /** Have every event of every actor seen, for maintainers. */
  inspects?: boolean | undefined;
  /** Idempotency keys of one API key that are remembered; 1,000,000 by default. */
  idempotencyKeysMax?: number | undefined;
}

/** Everything that a coordinator is made of. */
export type Parts = ReturnType<typeof createParts>;

type Core = ReturnType<typeof createCore>;
type Rooms = ReturnType<typeof createRooms>;
type Doors = ReturnType<typeof createDoors>;

/**
 * Make the parts of a coordinator, each after those that it works with, and declare who follows which feed. Nothing is started
 * or opened yet.
 */
export function createParts(options: CoordinatorOptions) {
  const core = createCore(options);
  const rooms = createRooms(options, core);
  const doors = createDoors(options, core, rooms);
  const files = createFiles(options, core);
  const batches = createBatches(options, { ...core, ...rooms, ...doors, ...files });
  followChanges(core, rooms, batches);
  const { retention, workerRetention, course } = doors;
  /** What runs by itself, from the start to the close. */
  const spools = new Spools({ ...options, deadlines: core.deadlines });
  const duties = [retention, workerRetention, course, files.fileExpiry, spools, core.courier, core.notices];
  /** What takes up what the store has, in this order. */
  const restored = [files.files, core.webhooks, core.queue, rooms.registration];
  return { ...core, ...rooms, ...doors, ...files, ...batches, spools, duties, restored };
}

/** Files and what removes them. */
function createFiles({ config, store, blobs, clock, random, logger }: CoordinatorOptions, core: Core) {
  const { audit, deadlines, runs } = core;
  const room = new FileRoom(config);
  const newId = () => uuidv7(clock, random);
  const isInUse = (id: string) => runs.usesFile(id);
  const files = new FileShelf({ blobs, store, clock, audit, room, newId, isInUse, logger });
  return { files, fileExpiry: new FileExpiry({ clock, deadlines, shelf: files, logger }) };
}

/** Batches, which read files and make runs of them. */
function createBatches(
  { config, store, clock, random, logger, onBatches = () => {} }: CoordinatorOptions,
  parts: Core & Rooms & Doors & ReturnType<typeof createFiles>,
) {
  const { runs: book, batchHost: host, runHost, audit, outbox } = parts;
  const batchWatch = new BatchWatch({
    ...parts,
    config,
    clock,
    logger,
    store,
    book,
    host,
    onBatches,
    plan: parts.planned,
  });
  return {
    batchWatch,
    batches: new Batches({
      clock,
      random,
      audit,
      book,
      host,
      runHost,
      watch: batchWatch,
      assertWebhook: outbox.assertNamed.bind(outbox),
    }),
  };
}

/** What every room is built on, and what no room owns alone. */
function createCore(options: CoordinatorOptions) {
  const { inspects, store, clock, logger } = options;
  const inspector = inspects === true ? new Inspector({ clock, logger }) : null;
  const bus = new EventBus((error) => logger.error({ err: error }, 'a listener failed'));
  const supervisor = new Supervisor({ clock, logger, inspector, bus });
  const deadlines = new Deadlines(clock, supervisor);
  const audit = new Audit({ store, clock, deadlines, logger });
  const webhookParts = createWebhooks(options, { audit, bus, deadlines });
  return {
    ...webhookParts,
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

/** Webhooks: what is committed with the changes of all other rooms, and sent after that. */
function createWebhooks(
  { config, store, clock, random, logger, webhookSender: sender }: CoordinatorOptions,
  core: { audit: Audit; bus: EventBus; deadlines: Deadlines },
) {
  const book = new WebhookBook();
  const newId = () => uuidv7(clock, random);
  const outbox = new Outbox({ book, newId, rules: () => config().webhooks });
  const keeper = new WebhookKeeper({ store, book });
  const parts = { ...core, clock, random, store, sender, book, keeper, outbox, newId, logger };
  const courier = new Courier(parts);
  return {
    outbox,
    courier,
    notices: new Notices({ ...parts, courier }),
    webhooks: new Webhooks({ ...parts, courier }),
  };
}

/** The rooms, from what knows no other to what knows them all: fleet and limits, jobs, leases, dispatch. */
function createRooms(options: CoordinatorOptions, core: Core) {
  const { config, store, clock, random, logger, pricing } = options;
  const { inspector, bus, supervisor, deadlines, audit, changes, runs, outbox, courier } = core;
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
  const { ahead, workers, signals } = fleet;
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
  const deliveriesOf = outbox.ofJob.bind(outbox);
  const accepted = (request: JobRequest) => outbox.resolved(request);
  const host = new JobHost({ clock, store, logger, inspector, changes, deliveriesOf, accepted });
  const isFree = (workerId: string, provider: string) =>
    workers.session(workerId)?.free.has(provider) === true;
  const costs = new AttemptCosts({ clock, pricing, isFree });
  const leaseParts = { config, clock, deadlines, leases, ahead, host, workers, signals, providers, costs };
  const keeper = new LeaseKeeper({ ...leaseParts, logger, supervisor });
  const candidates = new Candidates({ leases, providers, workers, priceOf: pricing.comparablePrice });
  const commands = new JobCommands({ config, clock, store, host, costs });
  const webhooks = {
    ofRun: outbox.ofRun.bind(outbox),
    ofBatch: outbox.ofBatch.bind(outbox),
    resolved: (request: BatchRequest) => outbox.resolved(request),
    take: courier.take.bind(courier),
  };
  const onPaused = () => workers.recall();
  const runHost = new RunHost({ clock, store, book: runs, bus, inspector, webhooks, onPaused });
  const runParts = { clock, deadlines, supervisor, store, book: runs, host: runHost, logger };
  const runWatch = new RunWatch({ ...runParts, commands });
  const exhausted = runWatch.exhausted.bind(runWatch);
  const budget = new RunBudget({ clock, book: runs, pricing, isFree, exhausted });
  const batchHost = new BatchHost({ clock, store, book: runs, host: runHost, bus, inspector, webhooks });
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
    batchHost,
  };
}

/** What happens after a commit, and after a change in the fleet: the lists of followers, in their order. */
function followChanges(
  { changes, supervisor, activity, bus, pending, courier, notices }: Core,
  { fleetChanges, leases, keeper, delays, providers, runWatch }: Rooms,
  { batchWatch }: Pick<Parts, 'batchWatch'>,
): void {
  changes.followedBy({
    core: [
      (change) => pending.follow(change),
      (change) => runWatch.follow(change),
      (change) => batchWatch.follow(change),
      (change) => keeper.follow(change),
      ({ after }) => delays.follow(after),
      ({ deliveries }) => {
        if (deliveries !== undefined) courier.take(deliveries);
      },
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
    lost: (worker) => notices.workerLost(worker),
  });
}

/** What those outside come in by: jobs, commands, connections of workers, figures; and the duties that run by themselves. */
function createDoors(options: CoordinatorOptions, core: Core, rooms: Rooms) {
  const { config, store, clock, random, logger, vitals, idempotencyKeysMax } = options;
  const { bus, supervisor, deadlines, pending, activity, audit, outbox, runs: book } = core;
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
  const planned = (request: JobRequest) => {
    outbox.assertNamed(request);
    return { request, plan: planOrRefuse(request, config()) };
  };
  const intake = new Intake({
    plan: (request) => planned(request).plan,
    clock,
    random,
    store,
    host,
    dispatcher,
    admission,
    idempotencyKeysMax,
  });
  const runIntake = new RunIntake({ clock, store, book, host: runHost, intake });
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
    planned,
    outcomes,
    runDoor: new Runs({
      store,
      book,
      runIntake,
      runCommands: new RunCommands({ ...runParts, commands }),
    }),
    runIntake,
    waits: new JobWaits({ clock, bus }),
    annotations: new Annotations({ store, clock }),
    connections: new Connections({ config, clock, logger, ...core, ...rooms, outcomes, liveness }),
    waiting: new WaitingReasons({ ...core, ...rooms }),
    retention: new Retention({ config, clock, deadlines, store, host, isAccepting, logger }),
    workerRetention: new WorkerRetention({ clock, deadlines, workers: workerAdmin, bus, logger }),
    figures: { store, clock, ...core, ...rooms, startedAt: clock.monotonic(), vitals },
    course: new Course({ clock, activity, counts: () => store.counts() }),
  };
}
