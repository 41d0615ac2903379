import test from 'ava';
import { Changes } from '../../src/coordinator/core/changes.ts';
import type { Committed } from '../../src/coordinator/core/index.ts';
import { silent } from '../../src/lib/log.ts';

const change = {
  before: null,
  after: { id: 'a' },
  event: null,
  effects: [],
  ledger: [],
} as unknown as Committed;

test('core followers see a change before observers, each in their order, with its number', (t) => {
  const seen: string[] = [];
  const follower = (name: string) => (_: Committed, seq: number) => void seen.push(`${name}${seq}`);
  const changes = new Changes(silent);
  changes.followedBy({ core: [follower('a'), follower('b')], observers: [follower('c')] });
  const end = changes.observe(follower('d'));
  changes.publish(change);
  end();
  changes.publish(change);
  t.deepEqual(seen, ['a1', 'b1', 'c1', 'd1', 'a2', 'b2', 'c2']);
});

test('an observer that throws keeps the change from nobody; a core follower that throws stops it', (t) => {
  const seen: number[] = [];
  const fail = () => {
    throw new Error('broken');
  };
  const see = (_: Committed, seq: number) => void seen.push(seq);
  const changes = new Changes(silent);
  changes.followedBy({ core: [], observers: [fail, see] });
  changes.publish(change);
  t.deepEqual(seen, [1]);
  const broken = new Changes(silent);
  broken.followedBy({ core: [fail, see], observers: [see] });
  t.throws(() => broken.publish(change), { message: 'broken' });
  t.deepEqual(seen, [1]);
});
