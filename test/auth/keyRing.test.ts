import test from 'ava';
import { makeKey, parseKey } from '../../src/auth/keyFormat.ts';
import { KeyRing, type KeyStorage } from '../../src/auth/keyRing.ts';
import { StoreUnavailable } from '../../src/domain/errors.ts';
import type { KeyRecord } from '../../src/domain/key.ts';
import { FakeClock, seededRandom } from '../support/fakeClock.ts';

const random = seededRandom();

function ringWith(
  options: { environmentKey?: string; keys?: KeyRecord[]; storage?: Partial<KeyStorage> } = {},
) {
  const clock = new FakeClock();
  const saved: KeyRecord[] = [];
  const storage: KeyStorage = {
    save: async (keys) => {
      saved.push(...keys);
    },
    remove: async () => {},
    ...options.storage,
  };
  const { environmentKey = null, keys = [] } = options;
  return { clock, saved, ring: new KeyRing({ clock, random, environmentKey, keys, storage }) };
}

const isTaken = (ring: KeyRing, key: string): boolean =>
  typeof ring.authenticate(`Bearer ${key}`) !== 'string';

test('a key tells its role and id, and a single wrong character is noticed without a look-up', (t) => {
  const { key, id, secret } = makeKey('operator', random);
  t.deepEqual(parseKey(key), { role: 'operator', id, secret });
  for (let index = 0; index < key.length; index += 1) {
    const wrong = key[index] === 'a' ? 'b' : 'a';
    t.is(parseKey(key.slice(0, index) + wrong + key.slice(index + 1)), null);
  }
});

test('a key is taken by its secret; nothing that is stored holds the secret', async (t) => {
  const { ring, saved } = ringWith();
  const { key, record } = await ring.create('client', 'ci', null);
  t.like(ring.authenticate(`Bearer ${key}`), { keyId: record.id, role: 'client' });
  t.false(JSON.stringify(saved).includes(parseKey(key)?.secret ?? ''));
  t.false(isTaken(ring, makeKey('client', random).key));
});

test('a key that could not be made durable is not taken', async (t) => {
  const refuse = () => Promise.reject(new StoreUnavailable('no space'));
  const { ring } = ringWith({ storage: { save: refuse } });
  await t.throwsAsync(ring.create('client', null, null), { instanceOf: StoreUnavailable });
  t.deepEqual(ring.list(), []);
});

test('a rotated key is taken next to its old secret until the grace is over', async (t) => {
  const { ring, clock } = ringWith();
  const { key: old, record } = await ring.create('worker', null, null);
  const { key: renewed } = await ring.rotate(record.id, 5_000);
  t.true(isTaken(ring, old) && isTaken(ring, renewed));
  clock.advance(5_000);
  t.false(isTaken(ring, old));
  t.true(isTaken(ring, renewed));
  await ring.rotate(record.id, 0);
  t.false(isTaken(ring, renewed));
});

test('an expired key is refused', async (t) => {
  const { ring, clock } = ringWith();
  const { key } = await ring.create('client', null, clock.now() + 1_000);
  t.true(isTaken(ring, key));
  clock.advance(1_000);
  t.false(isTaken(ring, key));
});

test('who lives on a key is told once when it is revoked, rotated away or expires, and nobody else is', async (t) => {
  const { ring, clock } = ringWith();
  const told: string[] = [];
  const watch = (name: string, key: string) => {
    const principal = ring.authenticate(`Bearer ${key}`);
    if (typeof principal !== 'string') ring.watch(principal, () => told.push(name));
  };
  const revoked = await ring.create('worker', null, null);
  const rotated = await ring.create('worker', null, null);
  const expiring = await ring.create('worker', null, clock.now() + 3_000);
  const lasting = await ring.create('worker', null, null);
  for (const [name, { key }] of Object.entries({ revoked, rotated, expiring, lasting })) watch(name, key);
  await ring.revoke(revoked.record.id);
  t.deepEqual(told, ['revoked']);
  watch('renewed', (await ring.rotate(rotated.record.id, 1_000)).key);
  t.deepEqual(told, ['revoked']);
  clock.advance(1_000);
  t.deepEqual(told, ['revoked', 'rotated']);
  clock.advance(100_000);
  t.deepEqual(told, ['revoked', 'rotated', 'expiring']);
});

test('the key of the environment is an admin key, whatever it looks like', (t) => {
  const { ring } = ringWith({ environmentKey: 'sixteen-characters' });
  t.like(ring.authenticate('Bearer sixteen-characters'), { role: 'admin' });
  for (const header of [
    'Bearer sixteen-character',
    'sixteen-characters',
    'Basic sixteen-characters',
    undefined,
    '',
  ]) {
    t.is(typeof ring.authenticate(header), 'string', String(header));
  }
});

test('the last use of a key is told at once, kept every ten minutes and at the end, and never at a request', async (t) => {
  const { ring, clock, saved } = ringWith();
  const { key, record } = await ring.create('client', null, null);
  const idle = await ring.create('viewer', null, null);
  saved.length = 0;
  const used = (id: string) => ring.list().find((one) => one.id === id)?.lastUsedAt;
  t.is(used(record.id), undefined);
  clock.advance(1_000);
  for (let count = 0; count < 100; count += 1) t.true(isTaken(ring, key));
  const at = clock.now();
  t.is(used(record.id), at);
  t.deepEqual(saved, []);
  clock.advance(600_000);
  await ring.keepUsed();
  t.deepEqual(
    saved.map(({ id, lastUsedAt }) => [id, lastUsedAt]),
    [[record.id, at]],
  );
  clock.advance(5_000);
  t.true(isTaken(ring, key));
  await ring.keepUsed();
  t.deepEqual([saved.length, saved[1]?.lastUsedAt, used(idle.record.id)], [2, clock.now(), undefined]);
  await ring.rotate(record.id, 0);
  t.is(used(record.id), clock.now());
});

test('a key with an open connection is in use', async (t) => {
  const { ring, clock } = ringWith();
  const { key } = await ring.create('worker', null, null);
  const principal = ring.authenticate(`Bearer ${key}`);
  if (typeof principal === 'string') return t.fail(principal);
  const end = ring.watch(principal, () => {});
  clock.advance(3_600_000);
  t.is(ring.list()[0]?.lastUsedAt, clock.now());
  end();
  t.is(ring.list()[0]?.lastUsedAt, clock.now() - 3_600_000);
});

test('the last use that the store did not take is kept with the next', async (t) => {
  let isFull = false;
  const saved: KeyRecord[] = [];
  const save: KeyStorage['save'] = async (keys) => {
    if (isFull) throw new StoreUnavailable('full');
    saved.push(...keys);
  };
  const { ring, clock } = ringWith({ storage: { save } });
  const { key } = await ring.create('client', null, null);
  t.true(isTaken(ring, key));
  const at = clock.now();
  isFull = true;
  await t.throwsAsync(ring.keepUsed(), { instanceOf: StoreUnavailable });
  isFull = false;
  await ring.keepUsed();
  t.is(saved.at(-1)?.lastUsedAt, at);
});
