import test from 'ava';
import { ApiError, Unreachable } from '../../src/client/errors.ts';
import { Outage } from '../../src/client/outage.ts';

test('an outage counts from its first failure, however long the question before it took', (t) => {
  let now = 0;
  const outage = new Outage(false, () => now);
  const gone = new Unreachable('http://127.0.0.1:7420', 'connection refused');
  t.throws(() => outage.pauseAfter(gone), { is: gone }, 'nobody was ever there');
  outage.answered();
  now = 1_000_000;
  t.true(outage.pauseAfter(gone) > 0);
  now += 119_000;
  t.true(outage.pauseAfter(gone) > 0);
  now += 1_000;
  t.throws(() => outage.pauseAfter(gone), { is: gone });
  outage.answered();
  t.true(outage.pauseAfter(gone) > 0, 'another one');
});

test('what does not pass by itself is told at once', (t) => {
  const outage = new Outage(true);
  for (const status of [401, 404, 500]) {
    const error = new ApiError(status, { detail: 'no' });
    t.throws(() => outage.pauseAfter(error), { is: error });
  }
});
