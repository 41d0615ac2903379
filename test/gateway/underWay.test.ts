import test from 'ava';
import { ReadGate } from '../../src/gateway/readGate.ts';
import { OwnUnderWay, UnderWay } from '../../src/gateway/underWay.ts';

const mebi = 1024 * 1024;

function connect(all: UnderWay) {
  const state = { isPaused: false };
  const gate = new ReadGate({
    pause: () => {
      state.isPaused = true;
    },
    resume: () => {
      state.isPaused = false;
    },
  });
  return { state, own: new OwnUnderWay(gate, all) };
}

test('of a worker with more than 16 MiB under way nothing is read until it is less', async (t) => {
  const { state, own } = connect(new UnderWay());
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [a, b] = [own.during(10 * mebi, first.promise), own.during(10 * mebi, second.promise)];
  t.true(state.isPaused);
  first.resolve();
  await a;
  t.false(state.isPaused);
  second.resolve();
  await b;
});

test('what all have under way is bounded too, and whoever has nothing is read', async (t) => {
  const all = new UnderWay();
  const others = Array.from({ length: 17 }, () => connect(all));
  const works = others.map(({ own }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    return { resolve, done: own.during(16 * mebi, promise) };
  });
  t.true(others[16]?.state.isPaused);
  const idle = connect(all);
  t.false(idle.state.isPaused);
  for (const { resolve } of works) resolve();
  await Promise.all(works.map(({ done }) => done));
  t.is(all.bytes, 0);
  t.true(others.every(({ state }) => !state.isPaused));
});
