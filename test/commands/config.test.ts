import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { configCommand } from '../../src/commands/config.ts';
import { createProgram, runProgram } from '../../src/commands/program.ts';
import { temporaryFolder } from '../support/folder.ts';
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
  t.regex((await run(folder, ['check'])).out, /^no file, every value has its default: ok$/m);
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
