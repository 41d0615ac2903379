import test, { type ExecutionContext } from 'ava';
import { createClient } from '../../src/client/client.ts';
import type { WireAuditList } from '../../src/domain/wire/audit.ts';
import { adminKey } from '../support/process.ts';
import { type Here, startHere } from '../support/service.ts';
import { type Ended, svc } from './cli.ts';

/** `svc audit …args` as the admin of this coordinator. */
function audit(t: ExecutionContext, { url }: Here, ...args: string[]): Promise<Ended> {
  return svc(t, ['audit', ...args, '--url', url], { env: { SVC_API_KEY: adminKey } });
}

test('who did what is shown as a table and as JSON, by time, key and action, also after a crash', async (t) => {
  const coordinator = await startHere(t);
  const client = createClient({ baseUrl: coordinator.url, apiKey: adminKey });
  const { id, key } = await client.createKey({ role: 'viewer', name: 'wall display' });
  await t.throwsAsync(createClient({ baseUrl: coordinator.url, apiKey: key }).keys());
  await client.revokeKey(id);

  const { code, stdout, stderr } = await audit(t, coordinator, '--since', '2h');
  t.is(code, 0, stderr);
  t.regex(stdout, /^ *WHEN +KEY +ROLE +ACTION +TARGET +FROM +DETAILS *\n/);
  t.regex(stdout, /SVC_API_KEY +admin +key\.revoked +key wall display +127\.0\.0\.1 +role: viewer/);
  t.regex(stdout, /wall display +viewer +role\.refused +route GET \/api\/keys +127\.0\.0\.1 +needs: admin/);

  const chosen = await audit(t, coordinator, '--actor', 'wall display', '--action', 'role.refused', '--json');
  const list: WireAuditList = JSON.parse(chosen.stdout);
  t.like(list, { total: 1, entries: [{ outcome: 'refused', actor: { key_id: id } }] });
  const one = await audit(t, coordinator, '--limit', '1');
  t.regex(one.stderr, /1 of \d; --limit shows more/);
  t.is((await audit(t, coordinator, '--until', '1h')).stderr, 'No entries.\n');
});

test('what cannot be meant is wrong usage or refused, with what would be right', async (t) => {
  const coordinator = await startHere(t);
  const since = await audit(t, coordinator, '--since', 'yesterday');
  t.is(since.code, 2);
  t.regex(since.stderr, /a time such as .*, or a span such as 2h/);
  const action = await audit(t, coordinator, '--action', 'key.stolen');
  t.not(action.code, 0);
  t.regex(action.stderr, /action must be one of key\.created/);
});
