import test from 'ava';
import fc from 'fast-check';
import { RateLimiter } from '../../src/lib/rateLimiter.ts';

test('one second’s worth may come at once, then one as each is due', (t) => {
  const limiter = new RateLimiter();
  for (let sent = 0; sent < 5; sent++) t.is(limiter.take('a', 5, 1000), 0);
  t.is(limiter.take('a', 5, 1000), 200);
  t.is(limiter.take('a', 5, 1000), 200, 'one that was refused costs nothing');
  t.is(limiter.take('b', 5, 1000), 0, 'another source has a bucket of its own');
  t.is(limiter.take('a', 5, 1200), 0);
  t.true(limiter.take('a', 5, 1200) > 0);
});

test('less than one a second still lets one pass', (t) => {
  const limiter = new RateLimiter();
  t.is(limiter.take('a', 0.1, 0), 0);
  t.is(limiter.take('a', 0.1, 4000), 6000);
  t.is(limiter.take('a', 0.1, 10_000), 0);
});

test('another rate gives every source its whole bucket', (t) => {
  const limiter = new RateLimiter();
  t.is(limiter.take('a', 0.001, 0), 0);
  t.true(limiter.take('a', 0.001, 0) > 0);
  t.is(limiter.take('a', 10, 0), 0);
});

test('it remembers at most 10,000 sources, and forgets the quietest', (t) => {
  const limiter = new RateLimiter();
  for (let source = 0; source < 10_000; source++) limiter.take(`${source}`, 1, 0);
  limiter.take('0', 1, 1000);
  limiter.take('one more', 1, 1000);
  t.is(limiter.size, 10_000);
  t.true(limiter.take('0', 1, 1000) > 0, 'the one that has just come is still known');
});

test('in no span of time do more pass than the bucket and the rate allow; who waits as told passes', (t) => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.2, max: 200, noNaN: true }),
      fc.array(fc.nat(2_000), { maxLength: 200 }),
      (perSecond, pauses) => {
        const limiter = new RateLimiter();
        const passed: number[] = [];
        let now = 0;
        for (const pause of pauses) {
          now += pause / 10;
          const waitMs = limiter.take('a', perSecond, now);
          if (waitMs === 0) passed.push(now);
          else if (pause % 7 === 0) {
            now += waitMs;
            t.is(limiter.take('a', perSecond, now), 0);
            passed.push(now);
          }
        }
        passed.forEach((from, first) => {
          passed.slice(first).forEach((to, more) => {
            const allowed = Math.max(1, perSecond) + ((to - from) / 1000) * perSecond;
            t.true(more + 1 <= allowed + 1e-3, `${more + 1} in ${to - from} ms`);
          });
        });
      },
    ),
  );
});
