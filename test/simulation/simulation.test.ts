import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { depth } from '../support/depth.ts';
import { simulate } from './world.ts';

/** `npm run simulate` runs as many more as there is time for. */
const seeds = depth(24, 120);
const command = join(import.meta.dirname, 'run.ts');

test.serial(
  'every promise is kept through crashes, power failures, faulty disks, networks, workers and clocks (L3, P1-P10)',
  async (t) => {
    const sums: Record<string, number> = {};
    for (let seed = 1; seed <= seeds; seed += 1) {
      const { breaches, figures, last } = await simulate(seed);
      for (const [name, figure] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + figure;
      if (breaches.length > 0) t.log(last.join('\n'));
      t.deepEqual(breaches.slice(0, 5), [], `npm run simulate -- --seed ${seed}`);
    }
    t.log(sums);
    // That it means something: the faults did happen, and there was work.
    t.true((sums.deaths ?? 0) > seeds && (sums.powerFailures ?? 0) > seeds && (sums.jobs ?? 0) > 10 * seeds);
    t.true((sums.serversBroken ?? 0) > seeds && (sums.failedByServer ?? 0) > 0);
    t.true(
      (sums.knobsTurned ?? 0) > seeds && (sums.changedInBulk ?? 0) > seeds && (sums.refusedByKey ?? 0) > 0,
    );
  },
);

test.serial(
  'the same seed gives the same history, in another process too; another seed another one',
  async (t) => {
    const hashes: string[] = [];
    for (const seed of [3, 4, 5].slice(0, depth(2, 3))) {
      const { hash } = await simulate(seed);
      t.is((await simulate(seed)).hash, hash);
      const { stdout } = await promisify(execFile)(process.execPath, [command, '--seed', String(seed)]);
      t.true(stdout.includes(`seed ${seed}: history ${hash}`), stdout);
      hashes.push(hash);
    }
    t.is(new Set(hashes).size, hashes.length);
  },
);
