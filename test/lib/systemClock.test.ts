import { mock } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { systemClock } from '../../src/lib/systemClock.ts';

/** What a timer takes at most, and what is longer than that. */
const timerMsMax = 2 ** 31 - 1;
const fiveWeeksMs = 35 * 86_400_000;

test.serial('a task that is weeks away does not run at once', async (t) => {
  const cancel = systemClock.after(fiveWeeksMs, () => t.fail('it ran'));
  // Timers run in the order of their times: one that had been taken for 1 ms would have run before this one.
  await delay(2);
  cancel();
  t.pass();
});

test.serial('a task that is weeks away runs in its time, unless it is taken back on the way', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const ran: string[] = [];
  systemClock.after(fiveWeeksMs, () => ran.push('kept'));
  const cancel = systemClock.after(fiveWeeksMs, () => ran.push('taken back'));
  mock.timers.tick(timerMsMax);
  cancel();
  mock.timers.tick(fiveWeeksMs - timerMsMax - 1);
  t.deepEqual(ran, []);
  mock.timers.tick(1);
  t.deepEqual(ran, ['kept']);
});
