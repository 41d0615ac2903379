import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { findCoordinator } from '../../src/commands/connection.ts';
import { type Fixture, serve } from '../client/server.ts';
import { apiKey, emptyFolder, svc } from './cli.ts';
import { fakeIo } from './screens.ts';

const serveWorkers = (t: ExecutionContext): Promise<Fixture> =>
  serve(t, () => ({ json: { workers: [], total: 0 } }));
const sentKey = ({ seen }: Fixture): string | undefined => seen.at(-1)?.headers.authorization;
const noKey = { SVC_API_KEY: undefined };

test('--url goes before SVC_COORDINATOR_URL, and that before the configuration of this machine', async (t) => {
  const [flag, environment, configured] = [
    await serveWorkers(t),
    await serveWorkers(t),
    await serveWorkers(t),
  ];
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, 'svc.config.yaml'), `host: 0.0.0.0\nport: ${new URL(configured.url).port}\n`);
  const env = { SVC_COORDINATOR_URL: environment.url };

  t.is((await svc(t, ['workers', 'list', '--url', flag.url], { cwd, env })).code, 0);
  t.is((await svc(t, ['workers', 'list'], { cwd, env })).code, 0);
  t.is((await svc(t, ['workers', 'list'], { cwd })).code, 0);
  t.deepEqual([flag.seen.length, environment.seen.length, configured.seen.length], [1, 1, 1]);
});

test('the global options may stand before the command too', async (t) => {
  const fixture = await serveWorkers(t);
  t.is((await svc(t, ['--url', fixture.url, 'workers', 'list'])).code, 0);
  t.is(fixture.seen.length, 1);
});

test('--key-file goes before SVC_API_KEY, and that before the key file of the data folder', async (t) => {
  const fixture = await serveWorkers(t);
  const cwd = await emptyFolder(t);
  await mkdir(join(cwd, 'data'));
  await writeFile(join(cwd, 'data/admin.key'), 'svc_admin_of_the_data_folder\n');
  await writeFile(join(cwd, 'my.key'), 'svc_client_of_a_file_of_mine\n');
  const args = ['workers', 'list', '--url', fixture.url];

  await svc(t, [...args, '--key-file', 'my.key'], { cwd });
  t.is(sentKey(fixture), 'Bearer svc_client_of_a_file_of_mine');
  await svc(t, args, { cwd });
  t.is(sentKey(fixture), `Bearer ${apiKey}`);
  await svc(t, args, { cwd, env: noKey });
  t.is(sentKey(fixture), 'Bearer svc_admin_of_the_data_folder');
});

test('the data folder is the one of the configuration or of SVC_DATA_DIR', async (t) => {
  const fixture = await serveWorkers(t);
  const cwd = await emptyFolder(t);
  for (const folder of ['configured', 'environment']) {
    await mkdir(join(cwd, folder));
    await writeFile(join(cwd, folder, 'admin.key'), `svc_admin_of_${folder}\n`);
  }
  await writeFile(join(cwd, 'svc.config.yaml'), 'store: { path: configured }');
  const args = ['workers', 'list', '--url', fixture.url];

  await svc(t, args, { cwd, env: noKey });
  t.is(sentKey(fixture), 'Bearer svc_admin_of_configured');
  await svc(t, args, { cwd, env: { ...noKey, SVC_DATA_DIR: 'environment' } });
  t.is(sentKey(fixture), 'Bearer svc_admin_of_environment');
});

test('the admin key of this machine is never sent to another one', async (t) => {
  const cwd = await emptyFolder(t);
  await mkdir(join(cwd, 'data'));
  await writeFile(join(cwd, 'data/admin.key'), 'svc_admin_of_the_data_folder\n');
  const { io } = fakeIo({ cwd });
  const keyFor = async (url: string): Promise<string | null> => (await findCoordinator({ url }, io)).apiKey;

  for (const other of [
    'http://svc.example:7420',
    'http://127.0.0.1.example',
    'http://10.0.0.9:7420',
    'https://localhost.example',
  ]) {
    t.is(await keyFor(other), null, other);
  }
  for (const own of [
    'http://127.0.0.1:7420',
    'http://localhost:9',
    'http://[::1]:7420',
    'http://127.1.2.3',
  ]) {
    t.is(await keyFor(own), 'svc_admin_of_the_data_folder', own);
  }
  await writeFile(join(cwd, 'svc.config.yaml'), 'host: 10.0.0.9\npublic_url: https://svc.example/');
  for (const own of ['http://10.0.0.9:7420', 'https://svc.example']) {
    t.is(await keyFor(own), 'svc_admin_of_the_data_folder', own);
  }
  t.is(await keyFor('http://svc.example'), null);
});

test('without any key the command asks without one, and a refusal says how to give one', async (t) => {
  const { url, seen } = await serve(t, () => ({
    status: 401,
    json: { code: 'authentication_failed', detail: 'Authentication failed: no key' },
  }));
  const { code, stderr } = await svc(t, ['workers', 'list', '--url', url], { env: noKey });
  t.is(code, 4);
  t.is(seen[0]?.headers.authorization, undefined);
  t.regex(stderr, /SVC_API_KEY or --key-file/);
});

test('a configuration that is broken does not stop whoever names address and key', async (t) => {
  const { url } = await serveWorkers(t);
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, 'svc.config.yaml'), 'nonsense: 1');
  t.is((await svc(t, ['workers', 'list', '--url', url], { cwd })).code, 0);
  t.is((await svc(t, ['workers', 'list', '--url', url], { cwd, env: noKey })).code, 2);
});

test('a key file that holds no key is refused', async (t) => {
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, 'my.key'), '\n');
  await chmod(join(cwd, 'my.key'), 0o600);
  const { code, stderr } = await svc(t, ['workers', 'list', '--key-file', 'my.key'], { cwd });
  t.is(code, 2);
  t.regex(stderr, /the key in it must have at least 16 characters, it has 0/);
});
