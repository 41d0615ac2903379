import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Client, createClient } from '../../src/client/client.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { WireKey, WireKeyList, WireNewKey } from '../../src/domain/wire/key.ts';
import { silent } from '../../src/lib/log.ts';
import { startService } from '../../src/service.ts';
import { temporaryFolder } from '../support/folder.ts';
import { adminKey } from '../support/process.ts';
import { type Here, startHere } from '../support/service.ts';
import { type Ended, svc } from './cli.ts';

/** `svc keys …args` as the admin of this coordinator. */
function keys(t: ExecutionContext, { url }: Here, ...args: string[]): Promise<Ended> {
  return svc(t, ['keys', ...args, '--url', url], { env: { SVC_API_KEY: adminKey } });
}

/** The status with which the coordinator answers a list of jobs to this key. */
async function statusFor({ url }: Here, apiKey: string): Promise<number> {
  const { status } = await fetch(`${url}/api/jobs`, { headers: { authorization: `Bearer ${apiKey}` } });
  return status;
}

test('a new key is printed once, alone on standard output, and is taken', async (t) => {
  const coordinator = await startHere(t);
  const { code, stdout, stderr } = await keys(
    t,
    coordinator,
    'create',
    '--role',
    'client',
    '--name',
    'nightly',
  );
  t.is(code, 0);
  t.regex(stdout, /^\S{20,}\n$/);
  const secret = stdout.trim();
  t.regex(stderr, /^The key nightly, role client\. It is shown only once/);
  t.false(stderr.includes(secret));
  t.is(await statusFor(coordinator, secret), 200);

  for (const format of [[], ['--json']]) {
    const list = await keys(t, coordinator, 'list', ...format);
    t.is(list.code, 0);
    t.true(list.stdout.includes('nightly'));
    t.false(`${list.stdout}${list.stderr}`.includes(secret));
  }
});

test('a key holds for its role and until its end', async (t) => {
  const coordinator = await startHere(t);
  const expires = ['--expires', '2099-12-31', '--json'];
  const made = await keys(t, coordinator, 'create', '--role', 'worker', ...expires);
  const key: WireNewKey = JSON.parse(made.stdout);
  t.is(made.stderr, '');
  t.like(key, { role: 'worker', name: null, expires_at: '2099-12-31T00:00:00.000Z' });
  t.is(await statusFor(coordinator, key.key), 403);

  const past = await keys(t, coordinator, 'create', '--role', 'client', '--expires', '2001-01-01');
  t.is(past.code, 2);
  t.is(past.stdout, '');
  t.regex(past.stderr, /expires_at must be in the future/);
});

test('a list is a table with what each key may do and until when', async (t) => {
  const coordinator = await startHere(t);
  const none = await keys(t, coordinator, 'list');
  t.is(none.code, 0);
  t.regex(none.stderr, /Create one with svc keys create --role worker/);
  const { id } = await coordinator.client.createKey({ role: 'worker', name: 'box-1' });
  const other = await coordinator.client.createKey({ role: 'client', expires_at: '2099-12-31T00:00:00Z' });
  await coordinator.client.rotateKey(id, 7200);

  const { stdout } = await keys(t, coordinator, 'list');
  const [header = '', ...rows] = stdout.trimEnd().split('\n');
  t.regex(header, /^NAME +ROLE +BOUND TO +CREATED +EXPIRES +LAST USED +OLD SECRET +ID$/);
  t.is(rows.length, 2);
  t.regex(rows.find((row) => row.includes(id)) ?? '', /^box-1 +worker +- +.+ - +- +ends in 1 h +\S+$/);
  t.regex(rows.find((row) => row.includes(other.id)) ?? '', /^- +client +- +.+ in \d+ d +- +- +\S+$/);
  const { keys: listed }: WireKeyList = JSON.parse((await keys(t, coordinator, 'list', '--json')).stdout);
  t.deepEqual(new Set(listed.map((key) => key.id)), new Set([id, other.id]));
});

test('a rotation gives a new secret; the old one is taken for the grace and not without', async (t) => {
  const coordinator = await startHere(t);
  const first = await coordinator.client.createKey({ role: 'client', name: 'nightly' });
  const second = (await keys(t, coordinator, 'rotate', 'nightly', '--grace', '600')).stdout.trim();
  t.not(second, first.key);
  t.is(await statusFor(coordinator, first.key), 200);
  t.is(await statusFor(coordinator, second), 200);

  const third = await keys(t, coordinator, 'rotate', first.id);
  t.is(third.code, 0);
  t.is(await statusFor(coordinator, second), 401);
  t.is(await statusFor(coordinator, third.stdout.trim()), 200);

  const long = await keys(t, coordinator, 'rotate', 'nightly', '--grace', `${31 * 86_400}`);
  t.is(long.code, 2);
  t.regex(long.stderr, /grace_seconds/);
});

test('revoked keys are refused at once', async (t) => {
  const coordinator = await startHere(t);
  const a = await coordinator.client.createKey({ role: 'client', name: 'a-key' });
  const b = await coordinator.client.createKey({ role: 'client' });
  const { code, stdout } = await keys(t, coordinator, 'revoke', 'a-key', b.id);
  t.is(code, 0);
  t.is(stdout, `a-key  revoked\n${b.id}  revoked\n`);
  t.is(await statusFor(coordinator, a.key), 401);
  t.is(await statusFor(coordinator, b.key), 401);

  const c = await coordinator.client.createKey({ role: 'viewer', name: 'c-key' });
  const json: WireKey = JSON.parse((await keys(t, coordinator, 'revoke', 'c-key', '--json')).stdout);
  t.is(json.id, c.id);
  t.false('key' in json);
});

test('who revokes the last admin key is told what is left', async (t) => {
  const coordinator = await startHere(t);
  for (const name of ['one', 'two']) await coordinator.client.createKey({ role: 'admin', name });
  const { stderr } = await keys(t, coordinator, 'revoke', 'one');
  t.is(stderr, '');
  const last = await keys(t, coordinator, 'revoke', 'two');
  t.is(last.code, 0);
  t.regex(last.stderr, /the last admin key in the list. Only the SVC_API_KEY/);
});

test('a key that is not there, or not the only one of its name, is refused with 5', async (t) => {
  const coordinator = await startHere(t);
  const first = await coordinator.client.createKey({ role: 'client', name: 'nightly' });
  const near = await keys(t, coordinator, 'revoke', 'nihgtly');
  t.is(near.code, 5);
  t.regex(near.stderr, /There is no key nihgtly; did you mean nightly\?/);

  const second = await coordinator.client.createKey({ role: 'viewer', name: 'nightly' });
  const both = await keys(t, coordinator, 'revoke', 'nightly');
  t.is(both.code, 5);
  t.true(both.stderr.includes(first.id) && both.stderr.includes(second.id));
  t.is(await statusFor(coordinator, first.key), 200);
  t.is((await keys(t, coordinator, 'revoke', first.id)).code, 0);
  t.is(await statusFor(coordinator, second.key), 200);
});

test('only an admin may: others end with 4', async (t) => {
  const coordinator = await startHere(t);
  const { key } = await coordinator.client.createKey({ role: 'operator' });
  const env = { SVC_API_KEY: key };
  for (const args of [['list'], ['create', '--role', 'admin']]) {
    t.is((await svc(t, ['keys', ...args, '--url', coordinator.url], { env })).code, 4);
  }
  t.is((await createClient({ baseUrl: coordinator.url, apiKey: adminKey }).keys()).keys.length, 1);
});

test('a worker key is bound when it is made, and otherwise later', async (t) => {
  const coordinator = await startHere(t);
  const bounds = ['--name-pattern', 'gpu-*', '--tag', 'eu', '--provider', 'vllm', '--max-concurrency', '8'];
  const made = await keys(t, coordinator, 'create', '--role', 'worker', '--name', 'gpu', ...bounds, '--json');
  t.like(JSON.parse(made.stdout), {
    name_patterns: ['gpu-*'],
    tags: ['eu'],
    providers: ['vllm'],
    max_concurrency: 8,
  });
  const changed = await keys(t, coordinator, 'change', 'gpu', '--no-tag', '--max-concurrency', '2');
  t.is(changed.code, 0);
  t.is(changed.stdout, 'gpu  bound to: gpu-*, vllm, 2 slots\n');
  t.is((await keys(t, coordinator, 'change', 'gpu')).code, 2);
});

test('the list says which key the data folder has, until that secret is rotated away', async (t) => {
  const folder = await temporaryFolder(t);
  const { config } = await loadConfig({
    env: { SVC_DATA_DIR: join(folder, 'data') },
    cwd: folder,
    overrides: { port: 0 },
  });
  const start = (apiKey: string | null) => startService({ config, apiKey, logger: silent });
  const marksOf = async (client: Client) =>
    (await client.keys()).keys.map(({ name, in_data_folder: is }) => [name, is]);
  const first = await start(null);
  const own = createClient({ baseUrl: first.url, apiKey: first.adminKey });
  const { id: other } = await own.createKey({ role: 'admin', name: 'other' });
  const expected = [
    ['made by the first start', true],
    ['other', undefined],
  ];
  t.deepEqual(await marksOf(own), expected);
  const env = { SVC_API_KEY: first.adminKey ?? '' };
  const { stdout } = await svc(t, ['keys', 'list', '--url', first.url], { env });
  const [header = '', ...rows] = stdout.trimEnd().split('\n');
  t.regex(header, /^NAME +ROLE +FILE +/);
  t.regex(rows.find((row) => row.includes('first start')) ?? '', /admin +admin\.key /);
  t.regex(rows.find((row) => row.includes(other)) ?? '', /^other +admin +- /);
  await first.stop(0);

  const second = await start(adminKey);
  t.teardown(() => second.stop(0));
  const client = createClient({ baseUrl: second.url, apiKey: adminKey });
  t.deepEqual(await marksOf(client), expected);
  const [made] = (await client.keys()).keys;
  await client.rotateKey(made?.id ?? '', 60);
  t.deepEqual(await marksOf(client), expected, 'the old secret is still taken');
  await client.rotateKey(made?.id ?? '');
  t.deepEqual(await marksOf(client), [
    ['made by the first start', undefined],
    ['other', undefined],
  ]);
});

test('a rotation says who used the old secret lately, and where it is to be changed', async (t) => {
  const coordinator = await startHere(t);
  const { key } = await coordinator.client.createKey({ role: 'client', name: 'app' });
  for (const userAgent of ['svc-mcp/0.1.0', 'OpenAI/JS 7.57.0'])
    await createClient({ baseUrl: coordinator.url, apiKey: key, userAgent }).jobs();
  const { code, stdout, stderr } = await keys(t, coordinator, 'rotate', 'app');
  t.is(code, 0);
  t.regex(stdout, /^\S{20,}\n$/);
  t.regex(stderr, /svc-mcp\/0\.1\.0 from \S+, .*: ~\/\.config\/svc\/mcp\.yaml/);
  t.regex(stderr, /OpenAI\/JS 7\.57\.0 from .*: its own settings/);
  t.notRegex(stderr, /and others/);

  for (let count = 0; count < 20; count += 1)
    await createClient({
      baseUrl: coordinator.url,
      apiKey: stdout.trim(),
      userAgent: `tool/${count}`,
    }).jobs();
  t.regex((await keys(t, coordinator, 'rotate', 'app')).stderr, /tool\/0 from .*\n {2}and others: /);
});
