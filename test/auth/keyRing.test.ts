import test from 'ava';
import { makeKey, parseKey } from '../../src/auth/keyFormat.ts';
import { createKey, KeyRing } from '../../src/auth/keyRing.ts';
import { FakeClock, seededRandom } from '../support/fakeClock.ts';

const random = seededRandom();

test('a key tells its role and id, and a single wrong character is noticed without a look-up', (t) => {
  const { key, id, secret } = makeKey('operator', random);
  t.deepEqual(parseKey(key), { role: 'operator', id, secret });
  for (let index = 0; index < key.length; index += 1) {
    const wrong = key[index] === 'a' ? 'b' : 'a';
    t.is(parseKey(key.slice(0, index) + wrong + key.slice(index + 1)), null);
  }
});

test('a key is taken by its secret; what is stored holds no secret', (t) => {
  const clock = new FakeClock();
  const { key, record } = createKey('client', 'ci', null, clock, random);
  const ring = new KeyRing({ clock, environmentKey: null, keys: [record] });
  t.deepEqual(ring.authenticate(`Bearer ${key}`), { keyId: record.id, role: 'client' });
  t.false(JSON.stringify(record).includes(parseKey(key)?.secret ?? ''));
  const other = createKey('client', null, null, clock, random);
  t.is(typeof ring.authenticate(`Bearer ${other.key}`), 'string');
});

test('an expired key is refused, and so is a rotated one after its grace', (t) => {
  const clock = new FakeClock();
  const old = createKey('client', null, clock.now() + 1_000, clock, random);
  const renewed = createKey('client', null, null, clock, random);
  const previous = { secretHash: old.record.secretHash, until: clock.now() + 500 };
  const ring = new KeyRing({
    clock,
    environmentKey: null,
    keys: [{ ...renewed.record, id: old.record.id, expiresAt: null, previous }],
  });
  t.like(ring.authenticate(`Bearer ${old.key}`), { role: 'client' });
  clock.advance(501);
  t.is(typeof ring.authenticate(`Bearer ${old.key}`), 'string');
  const expiring = new KeyRing({ clock, environmentKey: null, keys: [old.record] });
  clock.advance(500);
  t.regex(String(expiring.authenticate(`Bearer ${old.key}`)), /expired/);
});

test('the key of the environment is an admin key, whatever it looks like', (t) => {
  const ring = new KeyRing({ clock: new FakeClock(), environmentKey: 'sixteen-characters', keys: [] });
  t.like(ring.authenticate('Bearer sixteen-characters'), { role: 'admin' });
  for (const header of [
    'Bearer sixteen-character',
    'Bearer  sixteen-characters',
    'sixteen-characters',
    'Basic sixteen-characters',
    undefined,
    '',
  ]) {
    t.is(typeof ring.authenticate(header), 'string', String(header));
  }
});
