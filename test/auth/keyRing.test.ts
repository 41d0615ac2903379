import test from 'ava';
import { makeKey, parseKey } from '../../src/auth/keyFormat.ts';
import { KeyRing } from '../../src/auth/keyRing.ts';
import type { KeyStorage } from '../../src/auth/keyStorage.ts';
import { StoreUnavailable } from '../../src/domain/errors.ts';
import type { KeyRecord, Principal } from '../../src/domain/key.ts';
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

const nobody = { actor: null, address: null };

function principalOf(ring: KeyRing, key: string): Principal {
  const principal = ring.authenticate(`Bearer ${key}`);
  if (typeof principal === 'string') throw new Error(principal);
  return principal;
}

test('a session stands for its key, and nothing that is stored holds either secret', async (t) => {
  const { ring, saved } = ringWith();
  const { key, record } = await ring.create('operator', 'laptop', null);
  const made = await ring.sessions.create(principalOf(ring, key), nobody);
  t.like(principalOf(ring, made.key), {
    keyId: record.id,
    name: 'laptop',
    role: 'operator',
    sessionId: made.record.id,
  });
  t.deepEqual(
    ring.list().map(({ id }) => id),
    [record.id],
  );
  for (const secret of [key, made.key].map((one) => parseKey(one)?.secret ?? '')) {
    t.false(JSON.stringify(saved).includes(secret));
  }
  await t.throwsAsync(ring.sessions.create(principalOf(ring, made.key), nobody), { code: 'forbidden' });
  await t.throwsAsync(ring.revoke(made.record.id), { code: 'not_found' });
});

test('who lives on a session is told once when it ends or its key does, and who lives on the key is not told of the session', async (t) => {
  const { ring } = ringWith();
  const told: string[] = [];
  const { key, record } = await ring.create('viewer', null, null);
  const [one, two] = [
    await ring.sessions.create(principalOf(ring, key), nobody),
    await ring.sessions.create(principalOf(ring, key), nobody),
  ];
  for (const [name, secret] of Object.entries({ key, one: one.key, two: two.key })) {
    ring.watch(principalOf(ring, secret), () => told.push(name));
  }
  await ring.sessions.end(one.record.id, record.id, nobody);
  t.deepEqual(told, ['one']);
  await ring.revoke(record.id);
  t.deepEqual(told.sort(), ['key', 'one', 'two']);
});

test('a session that could not be made durable is not taken, and one whose end could not be is', async (t) => {
  let isFull = false;
  const refuse = async (): Promise<void> => {
    if (isFull) throw new StoreUnavailable('full');
  };
  const { ring } = ringWith({ storage: { save: refuse, remove: refuse } });
  const { key } = await ring.create('viewer', null, null);
  const { key: secret, record } = await ring.sessions.create(principalOf(ring, key), nobody);
  isFull = true;
  await t.throwsAsync(ring.sessions.create(principalOf(ring, key), nobody), { instanceOf: StoreUnavailable });
  await t.throwsAsync(ring.sessions.end(record.id, null, nobody), { instanceOf: StoreUnavailable });
  t.true(isTaken(ring, secret));
  t.is(ring.sessions.list(null).length, 1);
});

test('a session that has ended while the store took no writes is removed later, and the last use brings none back', async (t) => {
  let isFull = false;
  const removed: string[] = [];
  const remove: KeyStorage['remove'] = async (ids) => {
    if (isFull) throw new StoreUnavailable('full');
    removed.push(...ids);
  };
  const { ring, clock, saved } = ringWith({ storage: { remove } });
  const parent = await ring.create('viewer', null, clock.now() + 5_000);
  const { key, record } = await ring.sessions.create(principalOf(ring, parent.key), nobody);
  t.is(record.expiresAt, clock.now() + 5_000);
  t.true(isTaken(ring, key));
  isFull = true;
  clock.advance(5_000);
  await ring.keepUsed();
  t.deepEqual([removed, ring.sessions.list(null)], [[], []]);
  isFull = false;
  saved.length = 0;
  await ring.create('viewer', null, null);
  await ring.keepUsed();
  t.deepEqual(removed, [record.id]);
  t.false(saved.some(({ id }) => id === record.id));
});

test('a session of the key of the environment ends when that is another one, or none', async (t) => {
  const { ring, saved } = ringWith({ environmentKey: 'sixteen-characters' });
  const { key } = await ring.sessions.create(principalOf(ring, 'sixteen-characters'), nobody);
  t.like(principalOf(ring, key), { keyId: 'environment', role: 'admin', name: 'SVC_API_KEY' });
  const after = (environmentKey?: string) =>
    ringWith({ keys: [...saved], ...(environmentKey === undefined ? {} : { environmentKey }) }).ring;
  t.true(isTaken(after('sixteen-characters'), key));
  t.false(isTaken(after('sixteen-other-characters'), key));
  t.false(isTaken(after(), key));
});
