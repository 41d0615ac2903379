import test from 'ava';
import fc from 'fast-check';
import type { JobLife } from '../../src/domain/job.ts';
import { noCost } from '../../src/domain/money.ts';
import { differentLife, lifeDifference } from '../../src/store/changes/lifeDifference.ts';
import { fuzzOptions } from '../support/fuzz.ts';
import { epoch, lifeOf, targetOf } from './jobs.ts';

/** What stays after a restart. */
function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

const turn = (at: number) => ({ at, lease: 1, event: 'job.due', to: 'pending.ready' }) as const;
const step = (at: number) =>
  ({ provider: 'echo', model: null, workerId: 'w', outcome: 'chosen', why: `${at}`, at }) as const;

/** What may happen to a life: each keeps what it does not change, as the machine does. */
const edits: ((life: JobLife, n: number) => JobLife)[] = [
  (life, n) => ({ ...life, updatedAt: n, startedAt: n }),
  (life, n) => ({ ...life, route: [...life.route, step(n)] }),
  (life, n) => ({ ...life, route: [...life.route, step(n)].slice(-3) }),
  (life, n) => ({ ...life, route: [...life.route.slice(0, -1), step(n)] }),
  (life) => ({ ...life, route: life.route.slice(0, 1) }),
  (life) => ({ ...life, route: [] }),
  (life, n) => ({ ...life, turns: [...(life.turns ?? []), turn(n)] }),
  (life) => ({ ...life, turns: life.turns ?? [] }),
  ({ turns: _, ...life }) => life,
  (life, n) => ({ ...life, releaseCount: n }),
  (life, n) => ({ ...life, target: targetOf(`p${n}`), chain: [life.target, ...life.chain].slice(0, 2) }),
  (life, n) => ({ ...life, tallies: n % 2 === 0 ? {} : { echo: { transient: n, rateLimited: 0 } } }),
  (life) => ({ ...life, startedAt: null }),
];

test('a life and what differs from it make the next one, after a restart too', (t) => {
  const changes = fc.array(fc.tuple(fc.nat(edits.length - 1), fc.nat(50)), { maxLength: 8 });
  let whole = 0;
  let lean = 0;
  fc.assert(
    fc.property(changes, changes, (earlier, later) => {
      const edited = (life: JobLife, list: [number, number][]) =>
        list.reduce((current, [edit, n]) => edits[edit]?.(current, n) ?? current, life);
      const before = edited(lifeOf(), earlier);
      const after = edited(before, later);
      const difference = lifeDifference(before, after);
      if (difference === null) {
        whole += 1;
        t.true(before.turns !== undefined && after.turns === undefined);
        return;
      }
      lean += 1;
      const found = differentLife(stored(before), stored(difference));
      t.deepEqual(found, stored(after));
    }),
    fuzzOptions(2_000),
  );
  t.true(whole > 0 && lean > 10 * whole);
});

test('of an attempt that ends only that attempt and the members that changed are written', (t) => {
  const attempt = (lease: number) =>
    ({
      ...{ number: lease, lease, workerId: 'w', provider: 'echo', model: null, startedAt: epoch },
      ...{ finishedAt: null, outcome: null, error: null, usage: null },
      cost: noCost,
    }) as const;
  const before = lifeOf({ lease: 2, attempts: [attempt(1), attempt(2)], route: [step(1)] });
  const [first = attempt(1)] = before.attempts;
  const ended = { ...attempt(2), finishedAt: epoch + 1, outcome: 'completed' as const };
  const after = { ...before, attempts: [first, ended], finishedAt: epoch + 1 };
  t.deepEqual(lifeDifference(before, after), {
    values: { finishedAt: epoch + 1 },
    ends: { attempts: { kept: 1, added: [ended] } },
  });
});
