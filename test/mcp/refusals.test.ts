import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { setupApi } from '../support/api.ts';
import { adminKey } from '../support/process.ts';
import { startHere } from '../support/service.ts';
import { connectHttp, eras, post } from './support.ts';

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

test('a key is needed, in the header alone; a wrong one is 401 with a challenge', async (t) => {
  const { url } = await startHere(t);
  for (const authorization of ['', 'Bearer wrong', `Basic ${adminKey}`]) {
    const response = await post(url, list, { authorization });
    t.is(response.status, 401);
    t.regex(response.headers.get('www-authenticate') ?? '', /^Bearer/);
    t.like(await response.json(), { jsonrpc: '2.0', id: null, error: { code: -32000 } });
  }
  t.is((await post(url, list, { authorization: '', 'x-api-key': adminKey })).status, 200);
  t.is((await fetch(`${url}/mcp?api_key=${adminKey}`, { method: 'POST' })).status, 401);
});

test('a page of another site is 403, its own page and a client without Origin are not', async (t) => {
  const { url } = await startHere(t);
  for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1'])
    t.is((await post(url, list, { origin })).status, 403, origin);
  t.is((await post(url, list, { origin: url })).status, 200);
  t.is((await post(url, list)).status, 200);
});

test('only POST is offered, and front.mcp closes the door', async (t) => {
  const { url } = await startHere(t);
  const headers = { authorization: `Bearer ${adminKey}` };
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const response = await fetch(`${url}/mcp`, { method, headers });
    t.is(response.status, 405, method);
    t.is(response.headers.get('allow'), 'POST');
  }
  const closed = await startHere(t, { config: { front: { mcp: false } } });
  const response = await post(closed.url, list);
  t.is(response.status, 404);
  t.regex(await response.text(), /front\.mcp/);
});

test('bodies that are no JSON, no object, too large, or of another type are refused before the protocol', async (t) => {
  const { url } = await startHere(t, { config: { http: { max_body_bytes: 2000 } } });
  t.is((await post(url, '{')).status, 400);
  t.is((await post(url, [list, list])).status, 400);
  t.is((await post(url, { ...list, params: { x: 'x'.repeat(2000) } })).status, 413);
  t.is((await post(url, list, { 'content-type': 'text/plain' })).status, 415);
  t.is((await post(url, `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`)).status, 400);
});

test('headers that differ from the body, and versions that nobody speaks, are 400', async (t) => {
  const { url } = await startHere(t);
  const meta = (version: string) => ({
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  });
  const modern = { ...list, params: { _meta: meta('2026-07-28') } };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  t.is((await post(url, modern, headers)).status, 200);
  const differs = await post(url, modern, { ...headers, 'mcp-method': 'tools/call' });
  t.is(differs.status, 400);
  t.like(await differs.json(), { error: { code: -32020 } });
  const unknown = await post(
    url,
    { ...list, params: { _meta: meta('2099-01-01') } },
    { ...headers, 'mcp-protocol-version': '2099-01-01' },
  );
  t.is(unknown.status, 400);
  t.like(await unknown.json(), { error: { code: -32022 } });
});

for (const era of eras) {
  test(`${era}: a viewer reads, a client changes, others are refused; the audit log has it`, async (t) => {
    const { url, keys, api } = await setupApi(t);
    const viewer = await connectHttp(t, url, { era, key: keys.viewer });
    const { tools } = await viewer.sdk.listTools();
    t.deepEqual(
      tools.map(({ name }) => name),
      ['get_job', 'list_jobs', 'cost_report', 'queue_status'],
    );
    t.true(tools.every(({ annotations }) => annotations?.readOnlyHint === true));
    const refused = await viewer.call('submit_job', { prompt: 'x', provider: 'echo' });
    t.true(refused.isError);
    t.regex(refused.text, /needs client/);
    const { json } = await api('GET', '/api/audit?action=role.refused');
    t.regex(JSON.stringify(json), /POST \/mcp submit_job/);
    const client = await connectHttp(t, url, { era, key: keys.client });
    t.false((await client.call('submit_job', { prompt: 'x', provider: 'echo' })).isError);
    await t.throwsAsync(connectHttp(t, url, { era, key: keys.metrics }));
    await t.throwsAsync(connectHttp(t, url, { era, key: keys.worker }));
  });

  test(`${era}: an unknown tool is an error of the protocol, wrong arguments are a result that says what to do`, async (t) => {
    const { url } = await startHere(t);
    const { sdk, call } = await connectHttp(t, url, { era });
    const error = await t.throwsAsync(sdk.callTool({ name: 'drop_tables', arguments: {} }));
    t.is((error as Error & { code?: number }).code, -32602);
    const cases: [string, Record<string, unknown>, RegExp][] = [
      ['submit_job', {}, /prompt is required/],
      ['submit_job', { prompt: 'x', provider: 'echo', colour: 'red' }, /colour is not known/],
      ['submit_job', { prompt: 'x', provider: 'echo', idempotency_key: 'a b' }, /idempotency_key must be/],
      ['submit_jobs', { jobs: [] }, /at least 1 job/],
      ['submit_jobs', { jobs: [{ prompt: 'x', provider: 'echo' }, { input: 'x' }] }, /jobs\[1\]\.prompt/],
      ['submit_jobs', { jobs: Array(101).fill({ prompt: 'x', provider: 'echo' }) }, /at most 100/],
      ['get_job', { id: 'no-such-job' }, /list_jobs/],
      ['get_job', { id: 'x', wait_seconds: 51 }, /wait_seconds/],
      ['get_job', {}, /id/],
      ['list_jobs', { status: 'asleep' }, /must be one of pending/],
      ['list_jobs', { limit: 101 }, /limit/],
      ['cancel_jobs', {}, /ids/],
      ['cancel_jobs', { filter: { status: 'pending' } }, /expected_count is needed/],
      ['retry_job', { id: 'no-such-job' }, /list_jobs/],
      ['cost_report', { period: 'century' }, /must be one of day/],
      ['cost_report', { period: 5 }, /must be a string/],
      ['queue_status', { deep: true }, /deep is not known/],
    ];
    for (const [name, args, pattern] of cases) {
      const { isError, text } = await call(name, args);
      t.true(isError, `${name} ${JSON.stringify(args)}`);
      t.regex(text, pattern);
    }
    const resource = await t.throwsAsync(sdk.readResource({ uri: 'svc://jobs/nothing/output' }));
    t.regex(String(resource?.message), /not found/i);
  });
}

test('a key that is revoked ends the calls that wait with it at once', async (t) => {
  const { url, client } = await startHere(t);
  const { id: keyId, key } = await client.createKey({ role: 'client' });
  const { id } = await client.dispatch({ prompt: 'x', provider: 'nobody' });
  const params = { name: 'get_job', arguments: { id, wait_seconds: 50 } };
  const waiting = post(
    url,
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    { authorization: `Bearer ${key}` },
  );
  await delay(300);
  const startedAt = performance.now();
  await client.revokeKey(keyId);
  const response = await waiting.catch(() => null);
  t.true(response === null || response.status === 401);
  t.true(performance.now() - startedAt < 10_000);
  t.is((await client.job(id)).status, 'pending');
});

test('a key that sends too many requests gets 429 in the form of the protocol', async (t) => {
  const { url } = await startHere(t, { config: { http: { rate_limit_per_key: 1 } } });
  const responses = await Promise.all(Array.from({ length: 10 }, () => post(url, list)));
  const refused = responses.find(({ status }) => status === 429);
  t.truthy(refused?.headers.get('retry-after'));
  t.like(await refused?.json(), { jsonrpc: '2.0', error: { data: { code: 'rate_limited' } } });
});

test('nothing can be subscribed to, so no stream stays open', async (t) => {
  const { url } = await startHere(t);
  const { sdk } = await connectHttp(t, url);
  t.is(sdk.getServerCapabilities()?.tools?.listChanged, undefined);
  const response = await post(
    url,
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        },
      },
    },
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
  );
  t.like(await response.json(), { error: { code: -32603 } });
});
