import test from 'ava';
import type { Member } from '../../src/routing/member.ts';
import { strategies } from '../../src/routing/strategies/index.ts';
import { testStrategy } from '../conformance/strategy.ts';

for (const [name, strategy] of Object.entries(strategies)) testStrategy(name, strategy);

function member(provider: string, fields: Partial<Member> = {}): Member {
  return {
    target: { provider, model: null, worker: null, workerTag: null },
    model: null,
    state: 'ready',
    why: 'so',
    until: null,
    load: 0,
    price: null,
    latencyMs: null,
    ...fields,
  };
}

const providerOf = (picked: Member | null) => picked?.target.provider ?? null;

test('fallback waits for a busy first member, and goes past one that is skipped', (t) => {
  const pick = (first: Member['state']) =>
    providerOf(strategies.fallback([member('a', { state: first }), member('b')], 0));
  t.is(pick('busy'), 'a');
  t.is(pick('skipped'), 'b');
});

test('round_robin gives each its turn and leaves out the busy while another is free', (t) => {
  const list = [member('a'), member('b', { state: 'busy' }), member('c')];
  t.deepEqual(
    [0, 1, 2, 3].map((turn) => providerOf(strategies.round_robin(list, turn))),
    ['a', 'c', 'a', 'c'],
  );
});

test('least_busy takes the smallest share of slots taken', (t) => {
  const list = [member('a', { load: 0.5 }), member('b', { load: 0.25 }), member('c', { load: 0.25 })];
  t.is(providerOf(strategies.least_busy(list, 0)), 'b');
});

test('cheapest prefers a known price to an unknown one', (t) => {
  t.is(
    providerOf(strategies.cheapest([member('a'), member('b', { price: 3 }), member('c', { price: 2 })], 0)),
    'c',
  );
  t.is(providerOf(strategies.cheapest([member('a'), member('b')], 0)), 'a');
});

test('fastest measures a member it knows nothing of, then keeps to the shortest', (t) => {
  t.is(providerOf(strategies.fastest([member('a', { latencyMs: 5 }), member('b')], 0)), 'b');
  t.is(
    providerOf(strategies.fastest([member('a', { latencyMs: 5 }), member('b', { latencyMs: 9 })], 0)),
    'a',
  );
});
