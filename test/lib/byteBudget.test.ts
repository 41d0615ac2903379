import test from 'ava';
import fc from 'fast-check';
import { ByteBudget, type Holder } from '../../src/lib/byteBudget.ts';

const client = (keyId: string): Holder => ({ keyId, isPrivileged: false });
const admin: Holder = { keyId: 'admin', isPrivileged: true };

test('a key gets its share, all keys get the whole but for the reserve, and the reserve is for the privileged', (t) => {
  const budget = new ByteBudget(() => ({ bytes: 800, share: 0.5 }));
  t.is(budget.most(client('a')), 400);
  t.is(budget.take(client('a'), 400), null);
  t.is(budget.take(client('a'), 1), 'share');
  t.is(budget.take(client('b'), 300), null);
  t.is(budget.take(client('b'), 1), 'all');
  t.is(budget.take(client('c'), 1), 'all');
  t.is(budget.take(admin, 100), null);
  t.is(budget.take(admin, 1), 'all');
  budget.giveBack(client('a'), 400);
  t.is(budget.take(client('c'), 300), null);
  t.is(budget.take(admin, 100), null);
  t.is(budget.held, 800);
});

test('bounds that change count for what is taken from then on', (t) => {
  let bytes = 100;
  const budget = new ByteBudget(() => ({ bytes, share: 1 }));
  t.is(budget.take(client('a'), 80), null);
  bytes = 50;
  t.is(budget.take(client('b'), 1), 'all');
  budget.giveBack(client('a'), 80);
  t.is(budget.take(client('b'), 40), null);
});

test('whatever is taken and given back, nothing goes beyond its bound and nothing is left', (t) => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'admin'), bytes: fc.nat(600) });
  const property = fc.property(
    fc.array(step),
    fc.double({ min: 0.01, max: 1, noNaN: true }),
    (steps, share) => {
      const budget = new ByteBudget(() => ({ bytes: 1_000, share }));
      const taken: { holder: Holder; bytes: number }[] = [];
      for (const { key, bytes } of steps) {
        const holder = key === 'admin' ? admin : client(key);
        if (budget.take(holder, bytes) === null) taken.push({ holder, bytes });
        t.true(budget.held <= 1_000);
        t.true(budget.heldBy('a') + budget.heldBy('b') <= 875);
        t.true(budget.heldBy('a') <= budget.most(client('a')));
      }
      for (const { holder, bytes } of taken) budget.giveBack(holder, bytes);
      t.is(budget.held + budget.heldBy('a') + budget.heldBy('b') + budget.heldBy('admin'), 0);
    },
  );
  fc.assert(property);
});
