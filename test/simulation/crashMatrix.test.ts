import test from 'ava';
import type { JobState } from '../../src/domain/states.ts';
import { createJsonStore, type JsonStore } from '../../src/store/json/jsonStore.ts';
import type { JobChange } from '../../src/store/store.ts';
import { noLock } from '../store/folders.ts';
import { creation, headStart, ledgerEntry, transition, workerLife } from '../store/jobs.ts';
import { depth } from '../support/depth.ts';
import { SimProcess, Timeline } from '../support/timeline.ts';
import { Dice } from './dice.ts';
import { type DiskFaults, SimDisk, SimFiles } from './disk.ts';

const root = '/data';
const untouched: DiskFaults = {
  hasDurableWrites: true,
  fastMs: 1,
  slowMs: 1,
  shortWrites: 0,
  syncErrors: 0,
  openErrors: 0,
  readErrors: 0,
};

/** Every so many steps one is died at. Odd, because each operation counts twice: before and after it. */
const stride = depth(5, 1);

/** A machine with a disk, on which one store after the other lives. */
class Machine {
  /** Operations so far, each counted before and after it. */
  steps = 0;
  /** Job → the version that was acknowledged last. */
  readonly acknowledged = new Map<string, number>();
  readonly disk: SimDisk;
  readonly #timeline = new Timeline();
  #process = new SimProcess(this.#timeline, 'none');

  constructor(seed: number, hasDurableWrites: boolean) {
    this.disk = new SimDisk(root, { ...untouched, hasDurableWrites }, new Dice(seed, 'disk'));
  }

  /**
   * Open the folder and do something with it, in a process that dies at a step.
   * @param diesAt counted from now; null for when it has done so. @returns whether it came that far.
   */
  async live(diesAt: number | null, task: (store: JsonStore) => Promise<void>): Promise<boolean> {
    const process = new SimProcess(this.#timeline, 'store');
    this.#process = process;
    this.steps = 0;
    const files = new SimFiles(this.disk, this.#timeline, process, new Dice(diesAt ?? 0, 'files'), {
      step: () => {
        this.steps += 1;
        if (this.steps === diesAt) process.end();
      },
    });
    const store = createJsonStore({ path: root, clock: process.clock, headStart, files, lock: noLock });
    let end: { error: unknown } | null = null;
    const whole = async (): Promise<void> => {
      await store.open();
      await task(store);
    };
    whole().then(
      () => {
        end = { error: null };
      },
      (error: unknown) => {
        end = { error };
      },
    );
    const isOver = () => end !== null || !process.isAlive;
    await this.#timeline.run(this.#timeline.now + 600_000, isOver);
    const { error } = end ?? { error: null };
    const lived = process.isAlive;
    process.end();
    if (error !== null && lived) throw error;
    return lived;
  }

  /** A commit; what it acknowledges is remembered. */
  async commit(store: JsonStore, changes: readonly JobChange[]): Promise<void> {
    await store.commit(changes);
    if (!this.#process.isAlive) return;
    for (const { id, expectedVersion } of changes) this.acknowledged.set(id, expectedVersion + 1);
  }

  /** Take some jobs on to a state. */
  async move(store: JsonStore, ids: readonly string[], state: JobState): Promise<void> {
    for (const id of ids) {
      const job = await store.job(id);
      if (job === undefined) throw new Error(`no job ${id}`);
      const ledger = state === 'completed' ? [ledgerEntry('w', state)] : [];
      await this.commit(store, [
        transition(job, state, { finishedAt: state === 'completed' ? job.createdAt : null }, ledger),
      ]);
    }
  }

  /** @returns what was acknowledged and is not there. */
  async missing(store: JsonStore): Promise<string[]> {
    const missing: string[] = [];
    for (const [id, version] of this.acknowledged) {
      const job = (await store.job(id)) ?? (await store.archivedJob(id));
      const found = job?.version ?? 0;
      if (found < version || found > version + 1) missing.push(`${id} was at ${version} and is at ${found}`);
      this.acknowledged.set(id, found);
    }
    return missing;
  }
}

/** Some of everything that writes: commits of one, of many and many at once, two checkpoints, jobs to the archive. */
async function work(machine: Machine, store: JsonStore): Promise<void> {
  const ids = Array.from({ length: 9 }, (_, i) => `job-${i}`);
  await store.commit([{ kind: 'worker', life: workerLife('w') }]);
  for (const id of ids.slice(0, 3)) await machine.commit(store, [creation(id)]);
  await machine.commit(
    store,
    ids.slice(3).map((id) => creation(id, { request: { prompt: 'long '.repeat(300) } })),
  );
  await machine.move(store, ids.slice(0, 4), 'completed');
  await store.checkpoint();
  await machine.move(store, ids.slice(4, 6), 'running.active');
  // Jobs leave while a checkpoint is made.
  const archiving = { endedBefore: Number.POSITIVE_INFINITY, keep: 1, limit: 2 };
  await Promise.all([store.checkpoint(), store.archive(archiving, () => true)]);
  await store.checkpoint();
  await store.archive({ endedBefore: Number.POSITIVE_INFINITY, keep: 0, limit: 9 }, () => true);
  await machine.move(store, ids.slice(4, 6), 'completed');
  // A group of records over several pages, which the end of the power may tear anywhere.
  const shared = Array.from({ length: 12 }, (_, index) => creation(`shared-${index}`));
  await Promise.all(shared.map((one) => machine.commit(store, [one])));
}

/** What the next process does, so that it builds upon what it has found. */
async function goOn(machine: Machine, store: JsonStore, name: string): Promise<void> {
  for (let i = 0; i < 3; i += 1) await machine.commit(store, [creation(`${name}-${i}`)]);
}

for (const hasDurableWrites of [true, false]) {
  const writes = hasDurableWrites ? 'durable writes' : 'writes and syncs';
  for (const isPowerFailure of [false, true]) {
    const end = isPowerFailure ? 'a power failure' : 'kill -9';
    test(`${end} at any operation on the disk, with ${writes}, loses nothing acknowledged, also when the power fails again later (S3, P7)`, async (t) => {
      const whole = new Machine(0, hasDurableWrites);
      t.true(await whole.live(null, (store) => work(whole, store)));
      const { steps } = whole;
      t.true(steps > 200, `${steps} steps`);
      for (let diesAt = 1; diesAt <= steps; diesAt += stride) {
        const machine = new Machine(diesAt, hasDurableWrites);
        const lived = await machine.live(diesAt, (store) => work(machine, store));
        t.is(lived, false);
        if (isPowerFailure) machine.disk.loseThePower();
        for (const round of ['second', 'third']) {
          await machine.live(null, async (store) => {
            t.deepEqual(await machine.missing(store), [], `step ${diesAt}, ${round} start`);
            await goOn(machine, store, round);
          });
          machine.disk.loseThePower();
        }
        await machine.live(null, async (store) => {
          t.deepEqual(await machine.missing(store), [], `step ${diesAt}, at the end`);
        });
      }
    });
  }
}

test('a power failure in the write of a group, whichever of its sectors it keeps, refuses no start and loses nothing acknowledged (S17)', async (t) => {
  for (const hasDurableWrites of [true, false]) {
    const whole = new Machine(0, hasDurableWrites);
    await whole.live(null, (store) => work(whole, store));
    // The group is the last that is written.
    for (let diesAt = whole.steps - 3; diesAt <= whole.steps; diesAt += 1) {
      for (let seed = 1; seed <= depth(8, 25); seed += 1) {
        const machine = new Machine(seed, hasDurableWrites);
        await machine.live(diesAt, (store) => work(machine, store));
        machine.disk.loseThePower();
        await machine.live(null, async (store) => {
          t.deepEqual(await machine.missing(store), [], `step ${diesAt}, seed ${seed}`);
          await goOn(machine, store, 'after');
        });
      }
    }
  }
});

test('what a failed sync refused is not found by the next process, and what was acknowledged is (S8, P5)', async (t) => {
  for (const hasDurableWrites of [true, false]) {
    for (let seed = 1; seed <= 20; seed += 1) {
      const machine = new Machine(seed, hasDurableWrites);
      await machine.live(null, async (store) => {
        await goOn(machine, store, 'before');
        machine.disk.faults = { ...machine.disk.faults, syncErrors: 1 };
        await t.throwsAsync(store.commit([creation('refused')]));
        t.is(store.health().status, 'failed');
      });
      machine.disk.faults = { ...machine.disk.faults, syncErrors: 0 };
      await machine.live(null, async (store) => {
        t.is(await store.job('refused'), undefined);
        t.deepEqual(await machine.missing(store), []);
      });
    }
  }
});
