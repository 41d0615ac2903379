import test from 'ava';
import { ceilingOf } from '../../machines/providerLife.ts';
import { newProvider, type ProviderSnapshot, provider, providerAfter, rateLimit } from './fleet.ts';

const rules = { rateLimit, breaker: { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 } };

/** A burst of 429s, each with so many requests under way, itself included. */
const burst = (now: ProviderSnapshot, ...underWay: number[]) =>
  underWay.reduce((before, count) => providerAfter(before, provider.limited(1_000, 10, count)), now);
/** The wait is over, and the probe gets through while nothing else is under way. */
const back = (now: ProviderSnapshot) =>
  providerAfter(now, provider.due, provider.probeSent, { ...provider.succeeded, underWay: 1 });
const answers = (now: ProviderSnapshot, count: number) =>
  Array.from({ length: count }).reduce<ProviderSnapshot>(
    (before) => providerAfter(before, provider.succeeded),
    now,
  );
const ceiling = ({ context }: ProviderSnapshot) => ceilingOf(context, rules);

test('of a burst the fewest that were under way beside a 429 are those that got through', (t) => {
  const now = back(burst(newProvider(), 50, 49, 17, 18));
  t.like(now.context, { beside: null, met: { atOnce: 16, times: 1 } });
  t.is(ceiling(now), 2, 'one limit says nothing of requests at once');
});

test('a limit that is met twice with as many at once is returned to at once, and held for eight rounds', (t) => {
  let now = back(burst(back(burst(newProvider(), 17)), 18));
  t.is(ceiling(now), 17);
  now = answers(now, 17 * 8 - 1);
  t.is(ceiling(now), 17);
  t.is(ceiling(providerAfter(now, provider.streamed())), 17, 'output alone tries nothing');
  now = answers(now, 1);
  t.is(ceiling(now), 18, 'one more is tried');
  now = back(burst(now, 18));
  now = answers(now, 17 * 16 - 1);
  t.is(ceiling(now), 17, 'twice as long after each limit there');
  t.is(ceiling(answers(now, 3)), 20, 'and then as quickly as ever, while all get through');
});

test('one more is tried after 32 rounds at most, however often the limit was met', (t) => {
  let now: ProviderSnapshot = newProvider();
  for (let times = 0; times < 40; times += 1) now = back(burst(now, 2));
  t.is(now.context.met?.heldFor, 32);
});

test('a limit that is met with fewer at once is another one', (t) => {
  const known = back(burst(back(burst(newProvider(), 17)), 17));
  const now = back(burst(known, 9));
  t.like(now.context.met, { atOnce: 8, times: 1 });
  t.is(ceiling(now), 2);
});

test('a 429 to a probe, and a return from an open breaker, do not count as requests at once', (t) => {
  const known = back(burst(back(burst(newProvider(), 17)), 17));
  const probed = providerAfter(
    burst(known, 17),
    provider.due,
    provider.probeSent,
    provider.limited(9_000, 50),
  );
  t.is(probed.context.beside, null);
  t.is(ceiling(back(probed)), 16);
  t.is(ceiling(back(providerAfter(known, provider.failed({ ratio: 0 })))), 2);
});

test('what was learnt ends with the slow return, and with a reset', (t) => {
  const known = back(burst(back(burst(newProvider(), 990)), 990));
  const free = answers(known, 990 * 8 + 20);
  t.like(free.context, { ramp: null, met: null });
  t.is(providerAfter(known, provider.reset).context.met, null);
});
