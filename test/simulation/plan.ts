import { Dice } from './dice.ts';
import type { DiskFaults } from './disk.ts';
import type { NetworkFaults } from './network.ts';

/**
 * What goes wrong in one simulation. Each kind of fault is first switched on or off for the whole run, and then comes at
 * its rate (FoundationDB's BUGGIFY): a run with everything on at once never gets deep into anything.
 */
export interface Plan {
  /** How long clients send work and faults come, ms. */
  activeMs: number;
  /** Mean time between two actions of the clients, ms. */
  actionEveryMs: number;
  workers: number;
  checkpointBytes: number;
  keepJobs: number;
  heartbeatIntervalSeconds: number;
  reapStaleAfterSeconds: number;
  timeoutSeconds: number;
  maxReaps: number;
  /** Whether the configuration changes now and then. */
  turnsKnobs: boolean;
  /** Whether the workers' keys are made, rotated and revoked. */
  turnsKeys: boolean;
  /** Mean time between two troubles of the workers' model servers, ms; 0: there are none. */
  serverEveryMs: number;
  /** While nothing is wrong. */
  disk: DiskFaults;
  network: NetworkFaults;
  /** Share of disk operations at which the coordinator dies, 0..1; those that come seldom count more. */
  deathsAtDisk: number;
  /** Share of frames at which the coordinator dies. */
  deathsAtFrame: number;
  /** Deaths of the coordinator at most, over the whole run. */
  deathsMax: number;
  /** Share of its deaths that are power failures. */
  powerFailures: number;
  /** What the world does now and then, and how often. */
  blows: readonly Blow[];
  /** Mean time between two of them, ms. */
  blowEveryMs: number;
}

/** Something that happens to the world at a moment. */
export type Blow =
  | 'restart'
  | 'freezeCoordinator'
  | 'setClock'
  | 'fillDisk'
  | 'slowDisk'
  | 'failSyncs'
  | 'failOpens'
  | 'failReads'
  | 'darken'
  | 'reset'
  | 'slowNetwork'
  | 'killWorker'
  | 'freezeWorker'
  | 'drainWorker';

const blows: readonly Blow[] = [
  'restart',
  'freezeCoordinator',
  'setClock',
  'fillDisk',
  'slowDisk',
  'failSyncs',
  'failOpens',
  'failReads',
  'darken',
  'reset',
  'slowNetwork',
  'killWorker',
  'freezeWorker',
  'drainWorker',
];

/** Those that can take a lease from a worker that runs it. */
const partings: readonly Blow[] = [
  'freezeCoordinator',
  'darken',
  'slowNetwork',
  'killWorker',
  'freezeWorker',
  'drainWorker',
];

/** The plan of a seed. */
export function planOf(seed: number): Plan {
  const dice = new Dice(seed, 'plan');
  const on = <T>(share: number, value: T, off: T): T => (dice.chance(share) ? value : off);
  const isQuiet = dice.chance(0.1);
  const frames = isQuiet ? 0 : 1;
  return {
    activeMs: Math.round(dice.spread(15_000, 200_000)),
    actionEveryMs: dice.spread(150, 3_000),
    workers: dice.int(1, 6),
    checkpointBytes: Math.round(dice.spread(4_000, 200_000)),
    keepJobs: on(0.5, dice.int(0, 30), 100_000),
    heartbeatIntervalSeconds: dice.pick([1, 2, 5]),
    reapStaleAfterSeconds: isQuiet ? 120 : dice.pick([6, 15, 30, 120]),
    timeoutSeconds: on(0.7, 60, 20),
    maxReaps: dice.int(0, 3),
    turnsKnobs: dice.chance(0.5),
    // A worker whose key is revoked is parted from what it runs.
    turnsKeys: !isQuiet && dice.chance(0.3),
    serverEveryMs: on(0.6, dice.spread(2_000, 20_000), 0),
    disk: {
      hasDurableWrites: dice.chance(0.7),
      fastMs: 0.05,
      slowMs: on(0.3, 60, 3),
      shortWrites: on(0.3, 0.2, 0),
      syncErrors: 0,
      openErrors: 0,
      readErrors: 0,
    },
    network: {
      fastMs: 0.2,
      slowMs: on(0.3, 400, 5),
      lost: frames * on(0.2, 0.01, 0),
      doubled: frames * on(0.2, 0.03, 0),
      late: frames * on(0.2, 0.03, 0),
      cut: frames * on(0.3, 0.01, 0),
    },
    deathsAtDisk: on(0.6, dice.spread(0.0003, 0.01), 0),
    deathsAtFrame: on(0.3, dice.spread(0.0003, 0.01), 0),
    deathsMax: dice.int(0, 12),
    powerFailures: dice.pick([0, 0.5, 1]),
    blows: blows.filter((blow) => dice.chance(0.35) && !(isQuiet && partings.includes(blow))),
    blowEveryMs: dice.spread(4_000, 60_000),
  };
}

/**
 * Whether nothing in the plan can part a worker from what it runs but deaths of the coordinator, of which every lease
 * must come out unharmed.
 */
export function keepsLeases(plan: Plan): boolean {
  const { network, blows: planned, disk, reapStaleAfterSeconds, turnsKeys } = plan;
  const { lost, doubled, late } = network;
  const slow: readonly Blow[] = ['slowDisk', 'fillDisk', 'failSyncs', 'failOpens', 'failReads'];
  return (
    !turnsKeys &&
    lost + doubled + late === 0 &&
    disk.slowMs < 10 &&
    reapStaleAfterSeconds >= 120 &&
    !planned.some((blow) => partings.includes(blow) || slow.includes(blow))
  );
}
