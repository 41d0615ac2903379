import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { isNodeTooOld } from '../../src/lib/nodeVersion.ts';
import { ownCommand } from '../../src/lib/ownCommand.ts';
import { manifest, projectFolder } from '../../src/lib/projectFolder.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freePort } from '../support/process.ts';
import { end, install, pack, printed, readJson, run, start } from './installed.ts';

const packedBytesMax = 5_000_000;
const apiKey = '0123456789abcdef0123456789abcdef';

test('the package has what it needs alone, and works where it is installed', async (t) => {
  t.timeout(170_000);
  const folder = temporaryFolder(t);
  const packed = await pack(t, folder);
  t.true(packed.size < packedBytesMax, `${packed.size} bytes`);
  const paths = packed.files.map(({ path }) => path);
  for (const path of ['dist/src/svc.js', 'dist/dashboard/index.html', 'docs/texts/index.json', 'LICENSE'])
    t.true(paths.includes(path), path);
  t.deepEqual(
    paths.filter(
      (path) => !/^(dist\/(src|machines|dashboard|companion)|docs\/(texts|install))\/|^[\w.]+$/.test(path),
    ),
    [],
  );
  t.deepEqual(
    paths.filter((path) => /(?<!\.d)\.tsx?$|\.tgz$|node_modules/.test(path)),
    [],
  );

  const app = await install(t, folder, packed.file);
  if (app === null) {
    t.log('not installed: npm reaches no registry, and its cache lacks a package');
    return;
  }
  const svc = join(app, 'node_modules/.bin/svc');
  t.like(await run(t, svc, ['--version'], { cwd: app }), { code: 0, stdout: `${manifest.version}\n` });
  // Both commands, so that npx runs either of them by the name of the package.
  for (const args of [
    [manifest.name, '--version'],
    ['svc-jobs', '--version'],
  ])
    t.like(await run(t, 'npx', args, { cwd: app }), {
      code: 0,
      stdout: `${manifest.version}\n`,
    });
  const demo = await run(t, svc, ['demo', '--once', '--port', '0'], { cwd: app });
  t.regex(demo.stdout, /14 of 14 jobs completed/, demo.stderr);

  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { SVC_API_KEY: apiKey, SVC_COORDINATOR_URL: url, SVC_PORT: String(port) };
  const coordinator = start(t, svc, ['coordinator', '--data-dir', join(folder, 'data')], { cwd: app, env });
  await printed(coordinator, 'is ready');
  const worker = start(t, svc, ['worker', '--provider', 'echo', '--name', 'w'], { cwd: app, env });
  const job = await run(t, svc, ['run', 'Say hello', '--provider', 'echo'], { cwd: app, env });
  t.like(job, { code: 0 }, job.stderr);
  t.regex(job.stdout, /Say hello/);

  const page = await (await fetch(`${url}/`, { headers: { accept: 'text/html' } })).text();
  t.true(page.includes(`<meta name="svc-command" content="npx ${manifest.name}"`), page);
  const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(page)?.[1] ?? '';
  const answer = await fetch(`${url}/${script}`);
  t.is(answer.headers.get('content-type'), 'text/javascript; charset=utf-8');
  t.true((await answer.text()).length > 10_000);

  for (const child of [worker, coordinator]) {
    const ended = end(child);
    child.kill('SIGTERM');
    t.is((await ended).code, 0);
  }

  await t.notThrowsAsync(compileProgram());
  await oldNode();

  async function compileProgram(): Promise<void> {
    const program = [
      "import { createClient, type DispatchBody, type WireJob } from '@svc-jobs/svc';",
      "const client = createClient({ baseUrl: 'http://127.0.0.1:7420', apiKey: null });",
      "const body: DispatchBody = { prompt: 'x', provider: 'echo' };",
      'const job: WireJob = await client.dispatch(body);',
      'export const output: string | undefined = job.result?.output;',
      '// @ts-expect-error: the types are there',
      'export const wrong: number = job.id;',
    ];
    writeFileSync(join(app ?? '', 'program.ts'), program.join('\n'));
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', ''];
    const tsc = join(projectFolder, 'node_modules/.bin/tsc');
    const { code, stdout } = await run(t, tsc, [...flags, 'program.ts'], { cwd: app ?? '' });
    t.is(code, 0, stdout);
  }

  /** Every Node is too old for a package that requires one of the future. */
  async function oldNode(): Promise<void> {
    const inApp = (name: string): string => join(app ?? '', 'node_modules', name);
    const path = join(inApp(manifest.name), 'package.json');
    const installed = readJson<Record<string, unknown>>(path);
    writeFileSync(path, JSON.stringify({ ...installed, engines: { node: '>=999.1' } }));
    const refused = await run(t, svc, ['--version'], { cwd: app ?? '' });
    t.is(refused.code, 1);
    t.regex(refused.stderr, /^SVC needs Node 999\.1 or newer, and this is v\d+.*\n.*npm install node\n$/s);

    mkdirSync(join(inApp('node'), 'bin'), { recursive: true });
    writeFileSync(join(inApp('node'), 'package.json'), '{"name": "node"}');
    const other = join(inApp('node'), 'bin/node');
    writeFileSync(other, '#!/bin/sh\necho "$2"\nexit 7\n');
    chmodSync(other, 0o755);
    t.like(await run(t, svc, ['--version'], { cwd: app ?? '' }), { code: 7, stdout: '--version\n' });
  }
});

test('a Node older than the package requires is known as such', (t) => {
  for (const old of ['20.20.2', '22.18.9', '8.0.0']) t.true(isNodeTooOld(old), old);
  for (const good of ['22.19.0', '24.1.0', '26.10.0', process.versions.node])
    t.false(isNodeTooOld(good), good);
});

test('lines to paste name the command as it works in the place where they are printed', (t) => {
  const script = '/usr/local/bin/svc';
  const packaged = { cwd: '/tmp', script, isPackaged: true };
  t.is(ownCommand({ ...packaged, env: { PATH: '/usr/bin:/usr/local/bin' } }), 'svc');
  t.is(ownCommand({ ...packaged, env: { PATH: '/usr/bin' } }), `npx ${manifest.name}`);
  const byNpx = { PATH: '/usr/local/bin', npm_command: 'exec' };
  t.is(ownCommand({ ...packaged, env: byNpx }), `npx ${manifest.name}`);
  t.is(ownCommand({ env: {}, cwd: projectFolder }), 'npm run -s svc --');
  t.is(ownCommand({ env: {}, cwd: '/tmp' }), `${process.execPath} ${join(projectFolder, 'src/svc.ts')}`);
});
