import test from 'ava';
import { watchVitals } from '../../src/lib/vitals.ts';

test('the event loop’s delay is told without the pause between two looks', async (t) => {
  const watch = watchVitals();
  t.teardown(() => watch.close());
  const { eventLoopDelayP99Ms, rssBytes } = watch.read();
  t.is(eventLoopDelayP99Ms, 0);
  t.true(rssBytes > 1_000_000);
});
