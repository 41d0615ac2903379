import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Exit, SvcProcess, until } from '../support/process.ts';
import { emptyHome, type Home, lives, startCompanion, writeSettings } from './companion.ts';

async function run(
  t: ExecutionContext,
  { folder, env }: Home,
  args: string[],
): Promise<Exit & { out: string; err: string }> {
  const svc = new SvcProcess(['companion', ...args], { cwd: folder, env });
  t.teardown(() => (svc.exit === null ? svc.kill() : undefined));
  const { code, signal } = await svc.exited;
  return { code, signal, out: svc.out, err: svc.err };
}

test('status, open and stop say that it is not running', async (t) => {
  const home = emptyHome(t);
  for (const command of ['status', 'open', 'stop']) {
    const { code, err } = await run(t, home, [command]);
    t.is(code, 5);
    t.regex(err, /the companion is not running; start it with: svc companion/);
  }
});

test('a second one opens the window of the first; status shows it, stop ends it', async (t) => {
  const home = emptyHome(t);
  const companion = await startCompanion(t, home);
  const second = await run(t, home, ['--no-open']);
  t.is(second.code, 0);
  t.regex(second.err, /running already/);
  t.true(second.out.startsWith(`${companion.contact.url}open?ticket=`));
  const opened = await fetch(second.out.trim(), { redirect: 'manual' });
  t.is(opened.status, 303);
  const printed = await run(t, home, ['open', '--no-open']);
  t.true(printed.out.startsWith(`${companion.contact.url}open?ticket=`), printed.err);
  // What is there of a file of settings that is a link changes, and the link stays.
  const real = join(home.folder, 'real.yaml');
  renameSync(home.settings, real);
  symlinkSync(real, home.settings);
  t.is((await companion.act('settings', { concurrency: 3 })).status, 200);
  t.is(readlinkSync(home.settings), real);
  t.regex(readFileSync(real, 'utf8'), /concurrency: 3/);
  const shown = await run(t, home, ['status']);
  t.is(shown.code, 0);
  t.regex(shown.out, /^Coordinator +http:\/\/127\.0\.0\.1:7420/);
  t.regex(shown.out, /Worker +\S+: on, setup/);
  const state = JSON.parse((await run(t, home, ['status', '--json'])).out);
  t.is(state.worker.phase, 'setup');
  t.is((await run(t, home, ['--install'])).code, 0);
  t.is((await run(t, home, ['--uninstall', '--purge'])).code, 5, 'it is running');
  t.true(existsSync(join(home.folder, '.config/systemd/user/svc-companion.service')), 'nothing has changed');
  const stopped = await run(t, home, ['stop']);
  t.is(stopped.code, 0);
  t.deepEqual(await companion.process.exited, { code: 0, signal: null });
  t.false(existsSync(join(home.state, 'running.json')));
});

test('after a kill -9 its worker drains, and another starts', async (t) => {
  const home = emptyHome(t);
  const settings = {
    coordinator: 'http://127.0.0.1:9',
    api_key: 'an-admin-key-of-nobody',
    providers: ['echo'],
  };
  writeSettings(home, settings);
  const companion = await startCompanion(t, home);
  const { worker } = await companion.until('it runs', (state) => state.worker.problem !== null);
  await companion.process.kill();
  await until('the worker has ended', () => !lives(worker.pid ?? 0));
  t.is((await run(t, home, ['status'])).code, 5);
  const again = await startCompanion(t, home);
  t.not(again.contact.token, companion.contact.token);
});

test('it opens an application window of an installed browser', async (t) => {
  const home = emptyHome(t);
  const bin = join(home.folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'chromium'), `#!/bin/sh\necho "$@" > '${home.folder}/opened'\n`);
  chmodSync(join(bin, 'chromium'), 0o755);
  const env = { ...home.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` };
  const svc = new SvcProcess(['companion'], { cwd: home.folder, env });
  t.teardown(() => (svc.exit === null ? svc.kill() : undefined));
  const opened = join(home.folder, 'opened');
  const text = await until('a window', () => existsSync(opened) && readFileSync(opened, 'utf8'));
  t.regex(text, /^--app=http:\/\/127\.0\.0\.1:\d+\/[\w-]+\/open\?ticket=[\w-]+\n$/);
  svc.signal('SIGTERM');
  t.deepEqual(await svc.exited, { code: 0, signal: null });
});

test('a browser that fails is none: the link is printed', async (t) => {
  const home = emptyHome(t);
  await startCompanion(t, home);
  const browser = join(home.folder, 'chromium');
  writeFileSync(browser, '#!/bin/sh\nexit 3\n', { mode: 0o755 });
  const env = { ...home.env, PATH: `${home.folder}${delimiter}${home.env.PATH ?? process.env.PATH}` };
  const { code, out, err } = await run(t, { ...home, env }, ['open']);
  t.is(code, 0);
  t.regex(err, /No browser was found/);
  t.regex(out, /^http:\S+ticket=\S+\n$/);
});

test('a port that is in use, and a state folder that cannot be used, are said', async (t) => {
  const home = emptyHome(t);
  const taken = createServer().listen(0, '127.0.0.1');
  t.teardown(() => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as AddressInfo;
  const used = await run(t, home, ['--no-open', '--port', String(port)]);
  t.is(used.code, 1);
  t.regex(used.err, /cannot start: .*EADDRINUSE/);
  const other = emptyHome(t);
  mkdirSync(join(other.folder, '.local'));
  writeFileSync(join(other.folder, '.local', 'state'), 'a file');
  const blocked = await run(t, other, ['--no-open']);
  t.is(blocked.code, 1);
  t.regex(blocked.err, /cannot be used/);
});

test('settings that others can read become private, and the log stays bounded', async (t) => {
  const home = emptyHome(t);
  writeSettings(home, {});
  chmodSync(home.settings, 0o644);
  mkdirSync(home.state, { recursive: true });
  writeFileSync(join(home.state, 'companion.log'), 'x'.repeat(1024 * 1024 - 20));
  const companion = await startCompanion(t, home);
  t.is(statSync(home.settings).mode & 0o777, 0o600);
  await companion.until('it is said', ({ log }) =>
    log.some(({ text }) => /could be read by other users/.test(text)),
  );
  t.true(statSync(join(home.state, 'companion.log')).size < 10_000);
  t.true(existsSync(join(home.state, 'companion.log.1')));
});

test('--install writes a unit that systemd takes, --uninstall --purge leaves nothing', async (t) => {
  const home = emptyHome(t);
  const installed = await run(t, home, ['--install']);
  t.is(installed.code, 0);
  const folder = join(home.folder, '.config', 'systemd', 'user');
  const unit = join(folder, 'svc-companion.service');
  const text = readFileSync(unit, 'utf8');
  t.true(installed.out.includes(text.trimEnd()) && installed.out.includes(unit));
  t.regex(text, /^ExecStart="\S+" "\S+svc\.ts" "companion" "--no-open"$/m);
  t.is(readlinkSync(join(folder, 'default.target.wants', 'svc-companion.service')), unit);
  t.is((await run(t, home, ['--install'])).code, 0, 'again');
  writeSettings(home, {});
  t.is((await run(t, home, ['--purge'])).code, 2);
  const removed = await run(t, home, ['--uninstall', '--purge']);
  t.is(removed.code, 0);
  const left = readdirSync(home.folder, { recursive: true, withFileTypes: true }).filter(
    (one) => !one.isDirectory(),
  );
  t.deepEqual(
    left.map(({ name }) => name),
    [],
  );
  t.regex((await run(t, home, ['--uninstall'])).out, /was not set up/);
});
