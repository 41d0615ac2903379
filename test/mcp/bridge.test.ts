import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '../support/folder.ts';
import { adminKey, freePort, SvcProcess, startCoordinator, until } from '../support/process.ts';
import { startHere } from '../support/service.ts';
import { type Era, eras, type McpClient, newClient, wrapped } from './support.ts';

const entry = join(import.meta.dirname, '../../src/svc.ts');

interface BridgeHere extends McpClient {
  /** The settings of the bridge. */
  path: string;
  /** Write them as a person does. */
  set(settings: { url?: string; api_key?: string }): void;
  /** What it says on standard error. */
  said(): string;
}

/** `svc mcp` as a client starts it, with settings of its own. */
async function startBridge(
  t: ExecutionContext,
  settings: { url?: string; api_key?: string },
  { era = 'modern', env = {} }: { era?: Era; env?: Record<string, string> } = {},
): Promise<BridgeHere> {
  const folder = temporaryFolder(t);
  const path = join(folder, 'svc', 'mcp.yaml');
  mkdirSync(dirname(path));
  const set: BridgeHere['set'] = (values) => {
    const lines = Object.entries(values).map(([name, value]) => `${name}: ${value}\n`);
    writeFileSync(path, lines.join(''), { mode: 0o600 });
  };
  set(settings);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [entry, 'mcp'],
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, XDG_CONFIG_HOME: folder, ...env },
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (part: Buffer) => {
    said += part.toString();
  });
  const sdk = newClient(era);
  t.teardown(() => sdk.close());
  await sdk.connect(transport);
  return { ...wrapped(sdk), path, set, said: () => said };
}

for (const era of eras) {
  test(`${era}: submit, wait with progress, list and read over stdio`, async (t) => {
    const here = await startHere(t, { workers: 2 });
    const bridge = await startBridge(t, { url: here.url, api_key: adminKey }, { era });
    const { tools } = await bridge.sdk.listTools();
    t.is(tools.length, 8);
    const params = { echo_delay_ms: 500, echo_output: 'Hello' };
    const job = { prompt: 'x', provider: 'echo', params };
    const id = String((await bridge.call('submit_job', job)).structured.id);
    const messages: string[] = [];
    const read = await bridge.call(
      'get_job',
      { id, wait_seconds: 20 },
      { onprogress: ({ message = '' }) => messages.push(message) },
    );
    t.like(read.structured, { has_ended: true, output: { text: 'Hello' } });
    t.true(messages.length > 0);
    t.is((await bridge.call('list_jobs')).structured.total, 1);
    const { contents } = await bridge.sdk.readResource({ uri: `svc://jobs/${id}/output` });
    t.like(contents[0], { text: 'Hello' });
    const wrong = await bridge.call('get_job', { id: 'nothing' });
    t.true(wrong.isError);
    const error = await t.throwsAsync(bridge.sdk.callTool({ name: 'nothing', arguments: {} }));
    t.is((error as Error & { code?: number }).code, -32602);
    await t.throwsAsync(bridge.sdk.readResource({ uri: 'svc://jobs/nothing' }), { message: /not found/i });
  });

  test(`${era}: a new key in the settings is used at once, while a call under way gets its answer`, async (t) => {
    const here = await startHere(t, { workers: 2 });
    const first = await here.client.createKey({ role: 'client', name: 'first' });
    const second = await here.client.createKey({ role: 'client', name: 'second' });
    const bridge = await startBridge(t, { url: here.url, api_key: first.key }, { era });
    const job = { prompt: 'x', provider: 'echo', params: { echo_delay_ms: 1_000 } };
    const id = String((await bridge.call('submit_job', job)).structured.id);
    const waiting = bridge.call('get_job', { id, wait_seconds: 20 });
    await delay(200);
    bridge.set({ url: here.url, api_key: second.key });
    const submitted = await bridge.call('submit_job', job);
    t.like((await waiting).structured, { has_ended: true });
    const made = await here.client.job(String(submitted.structured.id));
    t.is(made.created_by?.key_id, second.id);
    await here.client.revokeKey(second.id);
    const refused = await bridge.call('list_jobs');
    t.true(refused.isError);
    t.regex(refused.text, /Authentication failed.*svc mcp --set-key/s);
    t.false(refused.text.includes(second.key));
    bridge.set({ url: here.url, api_key: adminKey });
    t.false((await bridge.call('list_jobs')).isError);
    await until('it says so', () => /the settings have changed/.test(bridge.said()), 3_000);
    t.false(bridge.said().includes(adminKey));
  });
}

test('a viewer sees the tools of its role, and others after its key was changed', async (t) => {
  const here = await startHere(t);
  const { key } = await here.client.createKey({ role: 'viewer' });
  const bridge = await startBridge(t, { url: here.url, api_key: key }, { era: 'legacy' });
  // A coordinator that takes more than 3 s on a busy machine counts as away, and then all tools are listed.
  await until('its own tools are listed', async () => (await bridge.sdk.listTools()).tools.length === 4);
  let changes = 0;
  bridge.sdk.setNotificationHandler('notifications/tools/list_changed', () => {
    changes += 1;
  });
  bridge.set({ url: here.url, api_key: adminKey });
  await until('the client is told', () => changes > 0, 3_000);
  t.is((await bridge.sdk.listTools()).tools.length, 8);
});

test('without a coordinator or a key the bridge starts, lists its tools, and says what to do', async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const bridge = await startBridge(t, { url });
  t.is((await bridge.sdk.listTools()).tools.length, 8);
  t.false(bridge.said().includes('chmod'));
  const noKey = await bridge.call('list_jobs');
  t.true(noKey.isError);
  t.regex(noKey.text, /there is no API key.*svc mcp --set-key/s);
  bridge.set({ url: 'ftp://x', api_key: adminKey });
  t.regex((await bridge.call('list_jobs')).text, /must be an address/);
  writeFileSync(bridge.path, 'api_key: [');
  t.regex((await bridge.call('list_jobs')).text, /is not YAML/);
  bridge.set({ url, api_key: adminKey });
  const away = await bridge.call('list_jobs');
  t.true(away.isError);
  t.regex(away.text, /cannot be reached \(ECONNREFUSED\).*--set-url/s);
});

test('a restart of the coordinator is waited for, and a job is submitted once', async (t) => {
  const running = await startCoordinator(t, { args: ['--with-echo-worker'], env: { SVC_API_KEY: adminKey } });
  const bridge = await startBridge(t, { url: running.url, api_key: adminKey });
  const job = { prompt: 'x', provider: 'echo', params: { echo_output: 'before' } };
  const id = String((await bridge.call('submit_job', job)).structured.id);
  await bridge.call('get_job', { id, wait_seconds: 20 });
  await running.process.kill();
  const submitted = bridge.call('submit_job', { prompt: 'y', provider: 'echo' });
  const again = await running.again();
  const { isError, text } = await submitted;
  t.false(isError, text);
  t.is((await again.client.jobs()).total, 2);
  const read = await bridge.call('get_job', { id });
  t.like(read.structured, { has_ended: true, output: { text: 'before' } });
  t.regex(bridge.said(), /the coordinator answers again/);
});

test('a coordinator that is killed in the midst of a long wait is waited for', async (t) => {
  const running = await startCoordinator(t, { args: ['--with-echo-worker'], env: { SVC_API_KEY: adminKey } });
  const bridge = await startBridge(t, { url: running.url, api_key: adminKey });
  const params = { echo_output: 'in the end', echo_delay_ms: 10_500 };
  const id = String(
    (await bridge.call('submit_job', { prompt: 'x', provider: 'echo', params })).structured.id,
  );
  const startedAt = performance.now();
  const progress: number[] = [];
  const waiting = bridge.sdk.callTool(
    { name: 'get_job', arguments: { id, wait_seconds: 40 } },
    { onprogress: (report) => void progress.push(report.progress) },
  );
  // Longer than a coordinator is waited for.
  await delay(9_500);
  await running.process.kill();
  await running.again();
  const { isError, structuredContent } = await waiting;
  t.not(isError, true);
  t.like(structuredContent, { has_ended: true, output: { text: 'in the end' } });
  t.true(performance.now() - startedAt < 55_000);
  t.deepEqual(
    progress,
    progress.toSorted((a, b) => a - b),
  );
});

test('the environment wins over the file', async (t) => {
  const here = await startHere(t);
  const env = { SVC_API_KEY: adminKey, SVC_COORDINATOR_URL: here.url };
  const bridge = await startBridge(
    t,
    { url: 'http://127.0.0.1:1', api_key: 'another-key-of-this-file' },
    { env },
  );
  t.false((await bridge.call('queue_status')).isError);
});

test('settings are stored for the user alone; the key is not shown, and other lines stay', async (t) => {
  const cwd = temporaryFolder(t);
  const path = join(cwd, 'svc', 'mcp.yaml');
  mkdirSync(dirname(path));
  writeFileSync(path, '# mine\nurl: http://old:1\n');
  chmodSync(path, 0o644);
  const env = { XDG_CONFIG_HOME: cwd };
  const svc = new SvcProcess(['mcp', '--set-url', 'http://new:2'], { cwd, env });
  t.is((await svc.exited).code, 0, svc.said());
  t.is(readFileSync(path, 'utf8'), '# mine\nurl: http://new:2\n');
  t.is(statSync(path).mode & 0o777, 0o600);
  for (const url of ['new', 'http://ada:word@new:2', 'http://new:2/?x=1', 'http://new:2/#x']) {
    const wrong = new SvcProcess(['mcp', '--set-url', url], { cwd, env });
    t.is((await wrong.exited).code, 2, url);
  }
  const empty = new SvcProcess(['mcp', '--set-key'], { cwd, env });
  t.is((await empty.exited).code, 2);
  t.regex(empty.err, /at least 16 characters/);
});
