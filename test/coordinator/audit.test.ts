import test from 'ava';
import type { AuditNote } from '../../src/domain/audit.ts';
import { auditQueryOf } from '../conformance/audit.ts';
import { setup } from '../support/coordinator.ts';

const minuteMs = 60_000;

const refusal = (keyId: string, route: string): Omit<AuditNote, 'outcome'> => ({
  by: { actor: { keyId, name: null, role: 'client' }, address: '127.0.0.1' },
  action: 'role.refused',
  target: { kind: 'route', id: route, name: null },
  details: { needs: 'admin' },
});

test('a refusal in a loop makes fewer entries the longer it goes on', async (t) => {
  const { coordinator, clock, store } = await setup(t);
  const hours = 24;
  for (let minute = 0; minute < hours * 60; minute += 1) {
    for (let count = 0; count < 5; count += 1) await coordinator.audit.refused(refusal('k', '/a'));
    clock.advance(minuteMs);
  }
  await store.checkpoint();
  const { entries } = await store.audit(auditQueryOf());
  t.true(entries.length <= hours + 10, `${entries.length} entries`);
  const told = entries.reduce((sum, { details }) => sum + Number(details.count ?? 1), 0);
  t.true(told > hours * 60 * 5 - 61 * 5, `${told} refusals`);
});

test('what a quiet while follows is recorded at once again', async (t) => {
  const { coordinator, clock, store } = await setup(t);
  for (let round = 0; round < 3; round += 1) {
    await coordinator.audit.refused(refusal('k', '/a'));
    t.is((await store.audit(auditQueryOf())).total, round + 1);
    clock.advance(minuteMs);
  }
});

test('refusals of ever new kinds share an entry of their key, and those of too many keys one for all', async (t) => {
  const { coordinator, store } = await setup(t);
  for (let count = 0; count < 1_000; count += 1) {
    await coordinator.audit.refused(refusal('hostile', `/${count}`));
  }
  t.is((await store.audit(auditQueryOf())).total, 17);
  await coordinator.audit.refused(refusal('other', '/1'));
  const [other] = (await store.audit(auditQueryOf())).entries;
  t.like(other, { by: { actor: { keyId: 'other' } }, target: { id: '/1' } });
  for (let key = 0; key < 1_000; key += 1) await coordinator.audit.refused(refusal(`k${key}`, '/a'));
  const { total, entries } = await store.audit(auditQueryOf());
  t.is(total, 257);
  t.like(entries[0], { by: { actor: null }, details: { several: true } });
});

test('what was counted is recorded when the coordinator stops; long texts are cut', async (t) => {
  const { coordinator, store } = await setup(t);
  await coordinator.audit.refused(refusal('k', 'x'.repeat(5_000)));
  await coordinator.audit.refused(refusal('k', 'x'.repeat(5_000)));
  await coordinator.audit.flush();
  const { entries } = await store.audit(auditQueryOf());
  t.deepEqual(
    entries.map(({ details, target }) => [details.count, target.id?.length]),
    [
      [1, 200],
      [undefined, 200],
    ],
  );
});

test('a refusal stays one when the store takes no writes', async (t) => {
  const { coordinator, store } = await setup(t);
  store.commit = async () => {
    throw new Error('full');
  };
  await t.notThrowsAsync(coordinator.audit.refused(refusal('k', '/a')));
});
