import type { ActorOptions, AnyActorLogic } from 'xstate';
import type { Clock, Random } from '../../domain/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import type { Audit, Deadlines, EventBus } from '../core/index.ts';
import { Ahead } from './ahead.ts';
import type { FleetListener } from './fleetChanges.ts';
import { Health } from './health.ts';
import type { Leases } from './leases.ts';
import { Registration } from './registration.ts';
import { WorkerAdmin } from './workerAdmin.ts';
import { WorkerCommits } from './workerCommits.ts';
import { WorkerSignals } from './workerSignals.ts';
import { Workers } from './workers.ts';
import { WorkerViews } from './workerViews.ts';

/** What the workers are made with. */
interface FleetOptions {
  store: Store;
  audit: Audit;
  clock: Clock;
  random: Random;
  bus: EventBus;
  deadlines: Deadlines;
  leases: Leases;
  logger: Logger;
  listener: FleetListener;
  /** How the actor of a worker, or of a fault of one, is observed. */
  inspect: (machine: 'worker' | 'health', id: string) => Pick<ActorOptions<AnyActorLogic>, 'inspect'>;
  /** Makes the id of a new worker. */
  newId: () => string;
}

/** The workers, how they come and go, what operators do with them, and what is learned of them. Nothing is opened yet. */
export function createFleet(options: FleetOptions) {
  const { store, audit, clock, random, bus, deadlines, leases, logger, listener, inspect, newId } = options;
  const ahead = new Ahead();
  const views = new WorkerViews({ store, clock, bus, leases, logger });
  const workers = new Workers({
    bus,
    leases,
    ahead,
    logger,
    views,
    listener,
    inspect: (id) => inspect('worker', id),
    newHealth: (workerId, onDue) =>
      new Health({
        workerId,
        clock,
        random,
        deadlines,
        bus,
        inspect: (id) => inspect('health', id),
        onDue,
      }),
  });
  const commits = new WorkerCommits({ store, audit, workers });
  const registration = new Registration({ store, clock, logger, workers, commits, views, listener, newId });
  const { keySlots } = registration;
  return {
    ahead,
    workers,
    registration,
    workerAdmin: new WorkerAdmin({
      store,
      clock,
      bus,
      leases,
      workers,
      commits,
      views,
      keySlots,
      listener,
    }),
    signals: new WorkerSignals({ workers, views, logger, listener }),
  };
}
