import test from 'ava';
import { setupApi } from '../support/api.ts';

const routing = {
  strategy: 'fallback' as const,
  chain: ['first', 'second', 'third'],
  rules: [{ match: { tags: ['private'] }, provider: 'second', worker: 'vault' }],
  fallbackOnTimeout: true,
};

test('explain tells who would run a job and why the others would not, and makes no job', async (t) => {
  const { api, worker } = await setupApi(t, { routing });
  await worker({ providers: ['second', 'third'] });
  const { status, json } = await api('POST', '/api/route/explain', { prompt: 'x' });
  t.is(status, 200);
  t.like(json, { strategy: 'fallback', rule: null, chosen: { provider: 'second', model: null } });
  const members = json.members as { provider: string; outcome: string; why: string }[];
  t.deepEqual(
    members.map(({ provider, outcome }) => `${provider} ${outcome}`),
    ['first skipped', 'second chosen', 'third not_needed'],
  );
  t.is(members[0]?.why, 'no connected worker fits');
  t.is((await api('GET', '/api/jobs')).json.total, 0);
});

test('explain names the rule that decided, and says when the job would wait', async (t) => {
  const { api } = await setupApi(t, { routing });
  const { json } = await api('POST', '/api/route/explain', { prompt: 'x', tags: ['private'] });
  t.like(json, { strategy: 'direct', rule: 0, chosen: null, why: 'a rule names second (routing.rules[0])' });
  t.like((json.members as unknown[])[0], { provider: 'second', worker: 'vault', state: 'skipped' });
});

test('explain refuses what a dispatch would refuse', async (t) => {
  const { api } = await setupApi(t);
  t.is((await api('POST', '/api/route/explain', { prompt: 'x' })).json.errors?.[0]?.field, 'provider');
  t.is((await api('POST', '/api/route/explain', { promt: 'x' })).status, 400);
});
