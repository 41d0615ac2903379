import test from 'ava';
import { Deadlines } from '../../src/coordinator/core/deadlines.ts';
import { FakeClock } from '../support/fakeClock.ts';

/** Deadlines whose timer sweeps them. */
function sweeping(clock: FakeClock): Deadlines {
  const deadlines: Deadlines = new Deadlines(clock, {
    deadlineReached: () => deadlines.sweep(),
    stallNoticed: () => {},
  });
  return deadlines;
}

test('a deadline that sets itself again for a time that has passed keeps nobody waiting', (t) => {
  const clock = new FakeClock();
  const deadlines = sweeping(clock);
  const start = clock.monotonic();
  let runs = 0;
  const again = () => {
    runs += 1;
    if (runs > 100) throw new Error('the sweep does not end');
    deadlines.set(start, again);
  };
  const ran: string[] = [];
  deadlines.set(start + 5, again);
  deadlines.set(start + 6, () => ran.push('other'));
  clock.advance(10);
  t.deepEqual(ran, ['other']);
  t.true(runs > 1 && runs <= 10, `${runs} runs`);
  deadlines.close();
});

test('a deadline of the same time that is cleared by one before it does not run', (t) => {
  const clock = new FakeClock();
  const deadlines = sweeping(clock);
  const at = clock.monotonic() + 5;
  const ran: string[] = [];
  deadlines.set(at, () => {
    ran.push('first');
    deadlines.clear(second);
  });
  const second = deadlines.set(at, () => ran.push('second'));
  clock.advance(10);
  t.deepEqual(ran, ['first']);
  deadlines.close();
});

test('nothing runs after the close, not even what is set then', (t) => {
  const clock = new FakeClock();
  const deadlines = sweeping(clock);
  deadlines.set(clock.monotonic() + 5, () => t.fail('set before'));
  deadlines.close();
  deadlines.clear(deadlines.set(clock.monotonic() + 5, () => t.fail('set and cleared')));
  deadlines.set(clock.monotonic() + 5, () => t.fail('set after'));
  clock.advance(1_000);
  t.pass();
});
