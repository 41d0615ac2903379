import { pino } from 'pino';
import type { JobEvent } from '../../machines/events.ts';
import { assembleCore } from '../../src/assemble.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { addAmounts, noAmounts } from '../../src/domain/cost.ts';
import { CoordinatorError, messageOf, StoreUnavailable } from '../../src/domain/errors.ts';
import { type JobRecord, lastAttempt } from '../../src/domain/job.ts';
import { isTerminal } from '../../src/domain/states.ts';
import type { WorkerView } from '../../src/domain/worker.ts';
import { WorkerSocket } from '../../src/gateway/workerSocket.ts';
import type { Logger } from '../../src/lib/log.ts';
import type { Socket } from '../../src/lib/socket.ts';
import { StoreCorrupt } from '../../src/store/json/errors.ts';
import type { JsonStore } from '../../src/store/json/jsonStore.ts';
import { everything } from '../store/jobs.ts';
import { SimProcess, Timeline } from '../support/timeline.ts';
import { SimBatches } from './batches.ts';
import { BulkChanges } from './bulkChanges.ts';
import { Checker } from './checker.ts';
import { type Ask, Clients } from './clients.ts';
import { Dice } from './dice.ts';
import { SimDisk, SimFiles } from './disk.ts';
import { Runs, SimWorker } from './fleet.ts';
import { History } from './history.ts';
import { Keys } from './keys.ts';
import { Knobs } from './knobs.ts';
import { Network } from './network.ts';
import { type Blow, keepsLeases, type Plan, planOf } from './plan.ts';
import { troubleIn, troubles } from './servers.ts';
import { watchedStore } from './watchedStore.ts';

type AttemptFailed = Extract<JobEvent, { type: 'job.attemptFailed' }>;

const root = '/data';
/** From the end of the faults until everything must have ended, ms of virtual time. */
const healMs = 3 * 3_600_000;
/** Answers that do not get through. */
const answersLost = 0.03;

/** Said by the coordinator of its own bugs. */
const bugs = [
  'frame could not be handled',
  'actor failed',
  'a listener failed',
  'a follower failed',
  'a listener threw',
  'could not be applied',
  'the job machine failed',
];

/** One coordinator from its start to its end. */
interface Server {
  process: SimProcess;
  store: JsonStore;
  coordinator: Coordinator;
  isListening: boolean;
  /** What clients wait for, to be told that nothing will come. */
  asked: Set<() => void>;
}

/** What one run came to. */
export interface Outcome {
  seed: number;
  /** Empty when every promise was kept. */
  breaches: readonly string[];
  /** SHA-256 of the history: the same seed gives the same. */
  hash: string;
  /** The last lines of the history. */
  last: readonly string[];
  figures: Record<string, number>;
}

/** A world with one coordinator on one disk, its workers and its clients, in virtual time; all of it follows from the seed. */
class World {
  readonly plan: Plan;
  readonly timeline = new Timeline();
  readonly history: History;
  readonly checker: Checker;
  readonly figures = {
    deaths: 0,
    powerFailures: 0,
    refusedStarts: 0,
    blows: 0,
    knobsTurned: 0,
    serversBroken: 0,
    failedByServer: 0,
  };
  readonly #world: SimProcess;
  readonly #seed: number;
  readonly #disk: SimDisk;
  readonly #network: Network;
  readonly #runs = new Runs();
  readonly #workers: SimWorker[] = [];
  readonly #clients: Clients;
  readonly #bulk: BulkChanges;
  readonly #knobs: Knobs;
  readonly #keys: Keys;
  readonly #logger: Logger;
  readonly #fate: Dice;
  #server: Server | null = null;
  #starts = 0;
  #wallOffset = 0;
  #wallOffsetMax = 0;
  #isActive = true;
  #deathsLeft: number;

  constructor(seed: number, trace: ((line: string) => void) | null) {
    this.#seed = seed;
    this.plan = planOf(seed);
    const { plan, timeline } = this;
    this.#deathsLeft = plan.deathsMax;
    this.#fate = new Dice(seed, 'fate');
    this.history = new History(() => timeline.now, trace);
    this.#world = new SimProcess(timeline, 'world');
    this.#knobs = new Knobs(plan, new Dice(seed, 'knobs'));
    this.checker = new Checker(this.#runs, this.#knobs, () => timeline.now);
    this.#disk = new SimDisk(root, plan.disk, new Dice(seed, 'disk'));
    this.#network = new Network(timeline, plan.network, new Dice(seed, 'network'));
    this.#network.onFrame = (from, to, text) => this.#onFrame(from, to, text);
    this.#logger = this.#makeLogger(trace);
    const asking = { ask: this.#ask, checker: this.checker };
    this.#keys = new Keys({ ...asking, dice: new Dice(seed, 'keys') });
    this.#bulk = new BulkChanges({
      ...asking,
      dice: new Dice(seed, 'bulk'),
      archives: () => this.#knobs.archives,
    });
    this.#clients = new Clients({
      ...asking,
      dice: new Dice(seed, 'clients'),
      bulk: this.#bulk,
      history: this.history,
      wallNow: () => this.#world.clock.now() + this.#wallOffset,
    });
  }

  async run(): Promise<void> {
    const { plan, timeline, checker } = this;
    this.history.add('world', JSON.stringify(plan));
    this.#start();
    for (let index = 0; index < plan.workers; index += 1) {
      this.#workers.push(
        new SimWorker(`w${index}`, {
          timeline,
          network: this.#network,
          dice: new Dice(this.#seed, `worker ${index}`),
          history: this.history,
          runs: this.#runs,
          logger: this.#logger,
          staleSeconds: plan.reapStaleAfterSeconds,
          isActive: () => this.#isActive,
          apiKey: () => this.#keys.heldBy(`w${index}`),
        }),
      );
    }
    this.#every(plan.actionEveryMs, () => this.#clients.act());
    if (plan.turnsKnobs) this.#every(plan.actionEveryMs * 15, () => this.#turnKnob());
    if (plan.turnsKeys) {
      const names = this.#workers.map(({ name }) => name);
      this.#every(plan.actionEveryMs * 5, () => this.#keys.act(names));
    }
    if (plan.serverEveryMs > 0) this.#every(plan.serverEveryMs, () => this.#breakServer());
    if (plan.blows.length > 0) this.#every(plan.blowEveryMs, () => this.#strike(this.#fate.pick(plan.blows)));
    this.#look();
    const isBroken = () => checker.breaches.length > 0;
    await timeline.run(plan.activeMs, isBroken);
    this.#heal();
    const healedAt = timeline.now;
    await timeline.run(healedAt + healMs, () => isBroken() || this.#isAtRest());
    // A worker that never got the job that was cancelled keeps its slot for two heartbeats.
    await timeline.run(timeline.now + 2_500 * plan.heartbeatIntervalSeconds, isBroken);
    if (isBroken()) return;
    checker.ended();
    await this.#audit();
    if (isBroken()) return;
    // Once more from what is on the disk, the power gone.
    this.#die(true, 1_000);
    await timeline.run(timeline.now + 600_000, () => isBroken() || this.#server?.isListening === true);
    if (isBroken()) return;
    await this.#audit();
    checker.ended();
    this.#world.end();
    this.#server?.process.end();
  }

  /** At random times, on average so often, while faults may happen. */
  #every(meanMs: number, task: () => void): void {
    this.timeline.after(this.#world, meanMs * 2 * this.#fate.random.next(), () => {
      if (!this.#isActive) return;
      task();
      this.#every(meanMs, task);
    });
  }

  #start(): void {
    const { timeline, plan, checker } = this;
    this.#starts += 1;
    if (this.#isActive && plan.turnsKnobs) this.#knobs.turnBeforeStart();
    const name = 'coordinator';
    const process = new SimProcess(timeline, name);
    process.wallOffset = this.#wallOffset;
    this.history.add(name, `starts the ${this.#starts}. time`);
    const files = new SimFiles(this.#disk, timeline, process, new Dice(this.#seed, `files ${this.#starts}`), {
      step: (operation) => {
        const isSeldom = ['rename', 'remove', 'syncFolder', 'truncate'].includes(operation);
        if (process.isAlive && this.#fate.chance(plan.deathsAtDisk * (isSeldom ? 10 : 1)))
          this.#dieByChance(operation);
      },
    });
    const { store, coordinator } = assembleCore({
      config: () => this.#knobs.config,
      clock: process.clock,
      random: new Dice(this.#seed, `coordinator ${this.#starts}`).random,
      logger: this.#logger,
      path: root,
      checkpointBytes: plan.checkpointBytes,
      files,
      lock: async () => ({ release: async () => {} }),
      watched: (own) => ({
        ...watchedStore(own, checker),
        // What is found is noted before anything can change it.
        open: async () => {
          await own.open();
          if (process.isAlive) checker.restarted(await knownJobs(own, checker.jobs.keys()));
          if (process.isAlive) checker.queueFound((await own.queue()).paused);
        },
      }),
    });
    const server: Server = { process, store, coordinator, isListening: false, asked: new Set() };
    this.#server = server;
    coordinator.observe((committed) => {
      if (!process.isAlive) return;
      const { after, event } = committed;
      this.history.add(
        name,
        `${after.id} v${after.version} ${event?.type ?? 'job.created'} → ${after.state}`,
      );
      checker.followed(committed);
      if (event?.type === 'job.attemptFailed' && after.state === 'failed') {
        this.#failedForGood(coordinator, after, event);
      }
      if (
        event?.type === 'job.reaped' &&
        keepsLeases(plan) &&
        this.#runs.of(after.id, event.lease).length > 0
      ) {
        checker.breach(`lease ${event.lease} of job ${after.id} was taken from a worker that ran it`);
      }
    });
    store.failed.then(() => {
      // As the command does it: nothing is acknowledged any more, the process ends.
      if (process.isAlive) this.#die(false, this.#backInMs());
    });
    const start = async (): Promise<void> => {
      await coordinator.start();
      SimBatches.open(coordinator);
      await this.#keys.start(coordinator, watchedStore(store, checker), process.clock);
    };
    start().then(
      () => this.#started(server),
      (error: unknown) => this.#notStarted(server, error),
    );
  }

  #started(server: Server): void {
    if (!server.process.isAlive) return;
    server.isListening = true;
    this.history.add('coordinator', 'listens');
    const { coordinator, process } = server;
    this.#network.listen({
      process,
      // As the gateway does it.
      accept: (socket: Socket, apiKey: string) => {
        const principal = this.#keys.authenticate(coordinator, apiKey);
        if (principal === null) return 401;
        if (coordinator.status !== 'accepting' && coordinator.status !== 'paused') return 503;
        // Workers get other keys while they run; that an operator frees the name each time is not simulated.
        const key = { keyId: 'fleet', name: null, bounds: null };
        const worker = new WorkerSocket({ socket, key, coordinator, logger: this.#logger });
        const unwatch = this.#keys.watch(coordinator, principal, apiKey, () => worker.keyRefused());
        socket.on('close', unwatch);
        return null;
      },
    });
  }

  #notStarted(server: Server, error: unknown): void {
    if (!server.process.isAlive) return;
    this.history.add('coordinator', `does not start: ${messageOf(error)}`);
    this.figures.refusedStarts += 1;
    if (error instanceof StoreCorrupt) this.checker.breach(`the store is corrupt: ${error.message}`);
    this.#die(false, this.#backInMs());
  }

  #backInMs(): number {
    return this.#isActive ? this.#fate.spread(20, 20_000) : 1_000;
  }

  #dieByChance(where: string): void {
    // A disk that loses bytes and a kill in the same millisecond are two faults at once: nobody takes back what was read.
    if (!this.#isActive || this.#deathsLeft === 0 || this.#server?.store.health().status === 'failed') return;
    this.#deathsLeft -= 1;
    this.history.add('world', `kills the coordinator at ${where}`);
    this.#die(this.#fate.chance(this.plan.powerFailures), this.#backInMs());
  }

  /** The process of the coordinator ends at once, and another one is started after a while. */
  #die(isPowerFailure: boolean, backInMs: number): void {
    const server = this.#server;
    if (server === null || !server.process.isAlive) return;
    this.history.add('coordinator', isPowerFailure ? 'loses its power' : 'dies');
    this.figures.deaths += 1;
    server.process.end();
    this.#ended(server);
    if (isPowerFailure) {
      this.figures.powerFailures += 1;
      this.#disk.loseThePower();
    }
    this.timeline.after(this.#world, backInMs, () => this.#start());
  }

  #ended(server: Server): void {
    this.#server = null;
    this.#network.listen(null);
    this.#network.reset(server.process);
    this.checker.died();
    this.#keys.died();
    for (const tell of [...server.asked]) tell();
    server.asked.clear();
  }

  /** Stop in good order, as the service does it, and start again. */
  #restart(): void {
    const server = this.#server;
    if (server === null || !server.isListening) return;
    this.history.add('coordinator', 'is told to stop');
    const { coordinator, process } = server;
    const stop = async (): Promise<void> => {
      await coordinator.drain(this.#fate.int(0, 10_000));
      coordinator.dismiss();
      this.#keys.stop(coordinator);
      await coordinator.close();
      if (!process.isAlive) return;
      this.history.add('coordinator', 'has stopped');
      process.end();
      this.#ended(server);
      this.timeline.after(this.#world, this.#backInMs(), () => this.#start());
    };
    stop().catch((error: unknown) => this.checker.breach(`it could not stop: ${messageOf(error)}`));
  }

  readonly #ask: Ask = (what, task, answer) => {
    this.history.add('client', what);
    const server = this.#server;
    if (server === null || !server.isListening) return;
    let isAnswered = false;
    const unheard = () => {
      if (isAnswered) return;
      isAnswered = true;
      server.asked.delete(unheard);
      answer('unknown', null, null);
    };
    server.asked.add(unheard);
    const reply = (tell: () => void) => {
      if (!server.process.isAlive || isAnswered) return;
      if (this.#isActive && this.#fate.chance(answersLost)) {
        unheard();
        return;
      }
      isAnswered = true;
      server.asked.delete(unheard);
      this.#network.later(this.#world, tell);
    };
    this.#network.later(server.process, () => {
      task(server.coordinator).then(
        (value) => reply(() => answer('ok', value, null)),
        (error: unknown) => {
          if (!(error instanceof CoordinatorError) && server.process.isAlive)
            this.checker.breach(`${what}: ${messageOf(error)}`);
          // What a failed disk refused may stand on it all the same: then nobody knows.
          const isSure = server.store.health().status !== 'failed';
          reply(() => answer(isSure ? 'refused' : 'unknown', null, error));
        },
      );
    });
  };

  #turnKnob(): void {
    this.history.add('world', this.#knobs.turn());
    this.figures.knobsTurned += 1;
    this.#configChanged();
  }

  #configChanged(): void {
    if (this.#server?.isListening) this.#server.coordinator.configChanged();
  }

  #onFrame(from: string, to: string, text: string): void {
    this.history.add(from, `says to ${to}: ${text.replace(/"server_time":"[^"]*"/, '').slice(0, 200)}`);
    if (this.#fate.chance(this.plan.deathsAtFrame)) this.#dieByChance('a frame');
  }

  #strike(blow: Blow): void {
    const fate = this.#fate;
    const { timeline } = this;
    const disk = this.#disk;
    const worker = fate.pick(this.#workers);
    const lasts = (leastMs: number, mostMs: number, end: () => void) => {
      timeline.after(this.#world, fate.spread(leastMs, mostMs), () => {
        if (this.#isActive) end();
      });
    };
    this.history.add('world', `strikes: ${blow}`);
    this.figures.blows += 1;
    switch (blow) {
      case 'restart':
        this.#restart();
        break;
      case 'freezeCoordinator':
        this.#server?.process.freeze(timeline.now + fate.spread(500, 60_000));
        break;
      case 'setClock':
        this.#setClock(this.#wallOffset + fate.pick([-3_600_000, -20_000, -500, 500, 20_000, 3_600_000]));
        break;
      case 'fillDisk':
        disk.free = fate.int(0, 3_000);
        lasts(500, 15_000, () => {
          disk.free = Number.POSITIVE_INFINITY;
        });
        break;
      case 'slowDisk':
        disk.faults = { ...disk.faults, slowMs: 2_000 };
        lasts(500, 15_000, () => {
          disk.faults = { ...disk.faults, slowMs: this.plan.disk.slowMs };
        });
        break;
      case 'failSyncs':
        disk.faults = { ...disk.faults, syncErrors: fate.pick([0.02, 0.3, 1]) };
        lasts(100, 3_000, () => {
          disk.faults = { ...disk.faults, syncErrors: 0 };
        });
        break;
      case 'failOpens':
        disk.faults = { ...disk.faults, openErrors: fate.pick([0.1, 1]) };
        lasts(100, 10_000, () => {
          disk.faults = { ...disk.faults, openErrors: 0 };
        });
        break;
      case 'failReads':
        disk.faults = { ...disk.faults, readErrors: fate.pick([0.05, 1]) };
        lasts(100, 10_000, () => {
          disk.faults = { ...disk.faults, readErrors: 0 };
        });
        break;
      case 'darken':
        this.#network.darkUntil = timeline.now + fate.spread(500, 60_000);
        break;
      case 'reset':
        this.#network.resetAll();
        break;
      case 'slowNetwork':
        this.#network.faults = { ...this.#network.faults, slowMs: 8_000 };
        lasts(500, 20_000, () => {
          this.#network.faults = { ...this.#network.faults, slowMs: this.plan.network.slowMs };
        });
        break;
      case 'killWorker':
        worker.kill(fate.spread(50, 30_000));
        break;
      case 'freezeWorker':
        worker.process.freeze(timeline.now + fate.spread(500, 90_000));
        break;
      case 'drainWorker':
        worker.drain(fate.int(0, 20_000), fate.spread(50, 10_000));
        break;
    }
  }

  /** The model server of a worker dies, loads, or refuses its key, and comes back later. */
  #breakServer(): void {
    const { name, providers, servers } = this.#fate.pick(this.#workers);
    const provider = this.#fate.pick(providers);
    const trouble = this.#fate.pick(troubles);
    this.history.add(name, `its server of ${provider} is ${trouble}`);
    this.figures.serversBroken += 1;
    servers.break(provider, trouble);
    this.timeline.after(this.#world, this.#fate.spread(500, 60_000), () => servers.mend(provider));
  }

  /** A job has failed for good: not by the fault of one worker while another one could run it. */
  #failedForGood(coordinator: Coordinator, { id, request, life }: JobRecord, event: AttemptFailed): void {
    const attempt = lastAttempt(life);
    const trouble = troubleIn(event.error.message);
    if (attempt === undefined || trouble === null) return;
    this.figures.failedByServer += 1;
    const { provider, workerId } = attempt;
    if (trouble === 'down' || trouble === 'loading') {
      this.checker.breach(`job ${id} failed for good because the server of ${provider} is ${trouble}`);
      return;
    }
    const failedOn = new Set(
      life.attempts
        .filter((one) => one.provider === provider && one.outcome === 'failed')
        .map((one) => one.workerId),
    );
    const { maxAttempts } = this.#knobs.config.jobs;
    const mayFail = trouble === 'failing' && (failedOn.size > 1 || maxAttempts === 1);
    const isPinned = life.target.worker !== null || request.provider === null;
    if (mayFail || isPinned) return;
    const others = this.#workers.filter(
      ({ servers, providers }) => providers.includes(provider) && servers.isWell(provider),
    );
    coordinator.workers().then((views) => {
      const able = views.find(
        (view) =>
          view.life.id !== workerId &&
          !failedOn.has(view.life.id) &&
          others.some(({ name }) => name === view.life.name) &&
          this.#isOpen(view, event.at),
      );
      if (able === undefined || this.plan.blows.includes('setClock')) return;
      this.checker.breach(
        `job ${id} failed by ${trouble} at ${provider} while ${able.life.name} could run it`,
      );
    });
  }

  /** Whether a worker took jobs at that time, and had done so for a while. */
  #isOpen({ connected, status, life }: WorkerView, at: number): boolean {
    const { connectedAt, lastHeartbeatAt, concurrency, paused } = life;
    const beatMs = this.plan.heartbeatIntervalSeconds * 1000;
    const isHeard = at - (lastHeartbeatAt ?? 0) < beatMs && (connectedAt ?? at) < at - 1_000;
    return connected && status === 'active' && !paused && concurrency > 0 && isHeard;
  }

  /** Somebody sets the wall clock of the coordinator's machine. */
  #setClock(offset: number): void {
    this.#wallOffset = offset;
    this.#wallOffsetMax = Math.max(this.#wallOffsetMax, offset);
    if (this.#server !== null) this.#server.process.wallOffset = offset;
  }

  /** From here on nothing goes wrong any more, and all that was begun must end. */
  #heal(): void {
    this.history.add('world', 'heals');
    this.#isActive = false;
    const { plan, timeline } = this;
    this.#disk.free = Number.POSITIVE_INFINITY;
    this.#disk.faults = { ...plan.disk, shortWrites: 0 };
    this.#network.faults = { fastMs: 0.2, slowMs: 5, lost: 0, doubled: 0, late: 0, cut: 0 };
    this.#network.darkUntil = 0;
    for (const { servers } of this.#workers) servers.mend();
    this.#knobs.turnBack();
    this.#keys.turnBack();
    this.#configChanged();
    // What waits for a time waits by the wall clock: the latest that was shown is right again.
    this.#setClock(this.#wallOffsetMax);
    // A frame that was lost on a connection is said again on the next one.
    timeline.after(this.#world, 1_000, () => this.#network.resetAll());
    this.#turnBack();
  }

  #turnBack(): void {
    this.timeline.after(this.#world, 5_000, () => {
      const server = this.#server;
      if (server?.isListening) {
        server.coordinator
          .workers()
          .then((views) => this.#clients.turnBack(views.map(({ life }) => life.id)));
      }
      if (this.timeline.now < this.plan.activeMs + 600_000) this.#turnBack();
    });
  }

  /** Whether all that was begun has ended, and every worker knows it. */
  #isAtRest(): boolean {
    const server = this.#server;
    if (server === null || !server.isListening || server.process.frozenUntil > this.timeline.now)
      return false;
    // What a client has asked for may begin a job yet.
    if (server.asked.size > 0) return false;
    if (!this.#clients.areAtRest(server.coordinator)) return false;
    for (const job of this.checker.jobs.values()) if (!isTerminal(job.state)) return false;
    return this.#workers.every(({ worker }) => worker.undelivered === 0 && worker.running === 0);
  }

  /** Once a second: whether anything waits for no reason. */
  #look(): void {
    this.timeline.after(this.#world, 1_000, () => {
      this.#look();
      const server = this.#server;
      if (server === null || !server.isListening || server.process.frozenUntil > this.timeline.now) return;
      const { coordinator } = server;
      if (coordinator.status !== 'accepting' || coordinator.storeHealth().status !== 'ok') return;
      const providers = new Map(coordinator.providers().map((provider) => [provider.name, provider]));
      coordinator.workers().then((views) =>
        this.checker.look((job) => {
          const provider = providers.get(job.life.target.provider);
          if (provider === undefined || provider.status !== 'available') return false;
          const isWell = ({ life, runningJobs }: WorkerView) =>
            runningJobs.length < life.concurrency &&
            this.#workers.some(
              ({ name, providers: served, servers }) =>
                name === life.name && served.includes(provider.name) && servers.isWell(provider.name),
            );
          const isIdle = views.some((view) => isWell(view) && this.#isOpen(view, server.process.clock.now()));
          // One that is just back has as many requests under way as it may, however few; slow answers hold up the next ones.
          const reason = coordinator.view(job).waiting?.reason;
          // A worker that is set aside for one model has free slots for the others, and takes this job only when no
          // other is open.
          const able = views.filter(
            ({ life, refusals, status }) =>
              status === 'active' &&
              life.providers.includes(provider.name) &&
              !refusals.some((refusal) => refusal.provider === provider.name),
          );
          const hasFree = able.some(({ life, runningJobs }) => runningJobs.length < life.concurrency);
          const isFree =
            provider.fleet.freeSlots > 0 && (able.length === 0 ? reason !== 'workers_unhealthy' : hasFree);
          return (isFree || isIdle) && reason !== 'provider_full' && reason !== 'run_paused';
        }),
      );
    });
  }

  /** Hold everything that the store has against what is known, at rest. */
  async #audit(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    let isDone = false;
    const audit = async (): Promise<void> => {
      const found: JobRecord[] = [];
      for await (const jobs of server.store.scan(everything, true)) found.push(...jobs);
      if (new Set(found.map(({ id }) => id)).size !== found.length)
        this.checker.breach('a job is there twice');
      const missing = [...this.checker.jobs.keys()].map((id): [string, JobRecord | null] => [id, null]);
      this.checker.restarted(
        new Map([...missing, ...found.map((job): [string, JobRecord] => [job.id, job])]),
      );
      const now = server.process.clock.now();
      const buckets = await server.store.costBuckets(now - 20 * 86_400_000, now + 20 * 86_400_000, 'total');
      this.checker.ledger(buckets.reduce((sum, { amounts }) => addAmounts(sum, amounts), noAmounts));
      for (const { life, runningJobs } of await server.coordinator.workers()) {
        if (runningJobs.length > 0)
          this.checker.breach(`${life.name} holds ${runningJobs} after all has ended`);
      }
      await this.#clients.audit(server.coordinator);
      const counts = await server.store.counts();
      if (counts.byStatus.pending + counts.byStatus.running > 0)
        this.checker.breach(`counts are ${JSON.stringify(counts)}`);
    };
    audit()
      .catch((error: unknown) => this.checker.breach(`the audit failed: ${messageOf(error)}`))
      .finally(() => {
        isDone = true;
      });
    await this.timeline.run(this.timeline.now + 600_000, () => isDone);
    if (!isDone) this.checker.breach('the audit did not end');
  }

  #makeLogger(trace: ((line: string) => void) | null): Logger {
    const level = trace === null ? 'error' : 'info';
    return pino(
      { level, base: null, timestamp: false },
      {
        write: (line: string) => {
          trace?.(`              log ${line.trim()}`);
          if (bugs.some((bug) => line.includes(bug)))
            this.checker.breach(`log: ${line.trim().slice(0, 1000)}`);
        },
      },
    );
  }

  get outcome(): Outcome {
    const { seed, checker, history, figures, timeline } = {
      seed: this.#seed,
      checker: this.checker,
      history: this.history,
      figures: this.figures,
      timeline: this.timeline,
    };
    return {
      seed,
      breaches: checker.breaches,
      hash: history.digest(),
      last: history.last,
      figures: {
        ...figures,
        jobs: checker.jobs.size,
        runs: this.#runs.count,
        changedInBulk: this.#bulk.changed,
        refusedByKey: this.#keys.refused,
        events: timeline.count,
        virtualMs: Math.round(timeline.now),
      },
    };
  }
}

/** Run the simulation of a seed. @param trace shown every line of its history. */
export async function simulate(
  seed: number,
  trace: ((line: string) => void) | null = null,
): Promise<Outcome> {
  const world = new World(seed, trace);
  const onRejection = (error: unknown) => world.checker.breach(`nobody took the error ${messageOf(error)}`);
  process.on('unhandledRejection', onRejection);
  try {
    await world.run();
  } finally {
    process.off('unhandledRejection', onRejection);
  }
  return world.outcome;
}

/** Every job that is in no archive, and those of `ids` that are. */
async function knownJobs(store: JsonStore, ids: Iterable<string>): Promise<Map<string, JobRecord | null>> {
  const found = new Map<string, JobRecord | null>();
  for (let offset = 0; ; offset += 1_000) {
    const { jobs } = await store.jobs({ ...everything, limit: 1_000, offset });
    for (const job of jobs) found.set(job.id, job);
    if (jobs.length < 1_000) break;
  }
  for (const id of ids) {
    if (found.has(id)) continue;
    try {
      found.set(id, (await store.archivedJob(id)) ?? null);
    } catch (error) {
      // An archive that cannot be read now tells nothing.
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
  return found;
}
