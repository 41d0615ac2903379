import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { configCommand } from '../../src/commands/config.ts';
import { createProgram, runProgram } from '../../src/commands/program.ts';
import { temporaryFolder } from '../support/folder.ts';
import { adminKey, freePort, startCoordinator } from '../support/process.ts';
import { fakeIo } from './screens.ts';

/** Run `svc config …` in a folder with this file. */
async function run(folder: string, args: string[], env: NodeJS.ProcessEnv = {}, columns?: number) {
  const { io, out, err } = fakeIo({ cwd: folder, env, ...(columns === undefined ? {} : { columns }) });
  const code = await runProgram(createProgram([configCommand(io)]), ['config', ...args], io);
  return { code, out: out(), err: err() };
}

test('check tells every problem with its line and ends with 2', async (t) => {
  const folder = temporaryFolder(t);
  await writeFile(join(folder, 'svc.config.yaml'), 'prot: 1\njobs:\n  max_reaps: -1\n');
  const { code, out, err } = await run(folder, ['check']);
  t.is(code, 2);
  t.is(out, '');
  t.regex(err, /svc\.config\.yaml:1: prot: unknown key, did you mean port\?/);
  t.regex(err, /svc\.config\.yaml:3: jobs\.max_reaps: must be a whole number of at least 0, not -1/);
});

test('check says that a file is good, and warns of what is likely a mistake', async (t) => {
  const folder = temporaryFolder(t);
  await writeFile(join(folder, 'other.yaml'), 'routing: { strategy: fallback }\n');
  const { code, out, err } = await run(folder, ['check', 'other.yaml']);
  t.is(code, 0);
  t.is(out, `${join(folder, 'other.yaml')}: ok, 1 warning\n`);
  t.regex(err, /warning: other\.yaml:1: routing\.strategy: is fallback, but/);
  t.regex((await run(folder, ['check'])).out, /^no file, all values are defaults: ok$/m);
});

test('check of a file that is not there ends with 2', async (t) => {
  const { code, err } = await run(temporaryFolder(t), ['check', 'nope.yaml']);
  t.is(code, 2);
  t.regex(err, /nope\.yaml: no such file$/m);
});

test('show prints every value with its source, and no secret', async (t) => {
  const folder = temporaryFolder(t);
  await writeFile(
    join(folder, 'svc.config.yaml'),
    'jobs: { max_attempts: 5 }\nrouting: { chain: [echo] }\nworker: { api_key: a-secret-of-the-workers }\n',
  );
  const { code, out } = await run(folder, ['show'], { SVC_PORT: '8000' });
  t.is(code, 0);
  for (const line of [
    /^port +8000 +environment$/m,
    /^jobs\.max_attempts +5 +file$/m,
    /^routing\.chain +\["echo"\] +file$/m,
    /^host +127\.0\.0\.1 +default$/m,
    /^public_url +- +default$/m,
    /^worker\.api_key +\[hidden\] +file$/m,
  ])
    t.regex(out, line);
  t.false(out.includes('a-secret-of'));
});

test('show --json has the form of the API', async (t) => {
  const folder = temporaryFolder(t);
  await writeFile(join(folder, 'svc.config.json'), '{"port": 1, "routing": {"strategy": "fallback"}}');
  const { code, out, err } = await run(folder, ['show', '--json']);
  t.is(code, 0);
  t.is(err, '');
  t.like(JSON.parse(out), {
    config: { port: 1, host: '127.0.0.1', jobs: { max_attempts: 3 } },
    sources: { port: 'file', host: 'default' },
    file: join(folder, 'svc.config.json'),
    warnings: { length: 1 },
  });
});

test('show fits a narrow terminal', async (t) => {
  const { out } = await run(temporaryFolder(t), ['show'], { NO_COLOR: '1' }, 60);
  for (const line of out.split('\n')) t.true(line.length <= 60, line);
});

test('set changes one value, keeps comments, and refuses what cannot be used', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'svc.config.yaml');
  await writeFile(file, '# ours\nproviders:\n  openai: # paid\n    model: m\n');
  const key = 'providers.openai.rate_limit.max_retries';
  const { code, out, err } = await run(folder, ['set', key, '4']);
  t.is(code, 0, err);
  t.is(out, `${file}: ${key} is 4\n`);
  t.regex(err, /Takes effect after the next start/);
  t.is(
    await readFile(file, 'utf8'),
    '# ours\nproviders:\n  openai:\n    # paid\n    model: m\n    rate_limit:\n      max_retries: 4\n',
  );
  for (const args of [
    ['set', key, 'many'],
    ['set', 'jobs.nothing', '1'],
    ['set', key],
    ['set', key, '1', '--unset'],
  ])
    t.is((await run(folder, args)).code, 2, args.join(' '));
  t.regex(await readFile(file, 'utf8'), /max_retries: 4/);
  t.is((await run(folder, ['set', 'providers.openai', '--unset'])).code, 0);
  t.notRegex(await readFile(file, 'utf8'), /openai/);
});

test('set makes a file where there is none, and JSON stays JSON', async (t) => {
  const folder = temporaryFolder(t);
  t.is((await run(folder, ['set', 'jobs.max_pending', '7'])).code, 0);
  t.is(await readFile(join(folder, 'svc.config.yaml'), 'utf8'), 'jobs:\n  max_pending: 7\n');
  const file = join(folder, 'own.json');
  await writeFile(file, '{"port": 1}');
  t.is((await run(folder, ['set', 'jobs.max_pending', '7', '--file', file])).code, 0);
  t.deepEqual(JSON.parse(await readFile(file, 'utf8')), { port: 1, jobs: { max_pending: 7 } });
});

test('set puts limits in force at a running coordinator', async (t) => {
  const [folder, port] = [temporaryFolder(t), await freePort()];
  const file = join(folder, 'own.yaml');
  await writeFile(file, `port: ${port}\nstore: { path: ${join(folder, 'data')} }\n`);
  const { url, client } = await startCoordinator(t, { port, args: ['--config', file] });
  const key = 'providers.defaults.rate_limit';
  const args = ['set', key, '{max_retries: 6}', '--file', file];
  const { code, err } = await run(folder, args, { SVC_API_KEY: adminKey, SVC_COORDINATOR_URL: url });
  t.is(code, 0, err);
  t.is(err, 'In effect now.\n');
  t.like((await client.config()).config, { providers: { defaults: { rate_limit: { max_retries: 6 } } } });
});
