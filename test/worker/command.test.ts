import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { fakeOllama } from '../fixtures/providers/ollama.ts';
import { serveConfig } from './support/configServer.ts';
import { ScriptedCoordinator } from './support/coordinator.ts';
import { job } from './support/setup.ts';

const cli = join(import.meta.dirname, 'support', 'cli.ts');
const key = 'a-key-of-enough-characters';

interface Process {
  child: ChildProcess;
  ended: Promise<{ code: number | null; out: string; err: string }>;
}

/** `svc worker …args` in an empty folder, with none of our own settings; it dies with the test. */
function start(
  t: ExecutionContext,
  args: string[],
  env: Record<string, string> = {},
  config?: object,
): Process {
  const folder = mkdtempSync(join(tmpdir(), 'svc-worker-'));
  if (config) writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config));
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'));
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout?.on('data', (data) => {
    said.out += data;
  });
  child.stderr?.on('data', (data) => {
    said.err += data;
  });
  const ended = new Promise<Awaited<Process['ended']>>((resolve) => {
    child.on('close', (code) => resolve({ code, ...said }));
  });
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  return { child, ended };
}

async function listen(t: ExecutionContext): Promise<ScriptedCoordinator> {
  const coordinator = await ScriptedCoordinator.listen();
  t.teardown(() => coordinator.close());
  return coordinator;
}

test('without a key it ends with 2 and says what to do', async (t) => {
  const { code, err } = await start(t, ['--provider', 'echo']).ended;
  t.is(code, 2);
  t.regex(err, /SVC_API_KEY/);
});

test('an unknown provider, none, a bad number, a bad address and an unknown option end with 2', async (t) => {
  const wrong: [string[], RegExp][] = [
    [['--provider', 'openia'], /unknown provider "openia"; there are: echo/],
    [[], /no provider/],
    [['--provider', 'echo', '--concurrency', '1.5'], /whole number/],
    [['--provider', 'echo', '--coordinator', 'nowhere'], /must be like http/],
    [['--provider', 'echo', '--colour'], /unknown option/],
    [['--provider', 'echo', '--config', 'missing.yaml'], /no such file/],
  ];
  for (const [args, message] of wrong) {
    const { code, err } = await start(t, args, { SVC_API_KEY: key }).ended;
    t.is(code, 2, args.join(' '));
    t.regex(err, message);
  }
});

test('a local-model server that cannot be reached ends the start with 1, and says where it was looked for', async (t) => {
  const env = { SVC_API_KEY: key, SVC_LOCAL_MODEL_HOST: 'http://127.0.0.1:9' };
  const { code, err } = await start(t, ['--provider', 'ollama'], env).ended;
  t.is(code, 1);
  t.regex(err, /could not connect to the ollama server at http:\/\/127\.0\.0\.1:9: .*ollama serve/);
});

test('a worker of ollama tells its models, warns of a configured one that is not there, and answers', async (t) => {
  const coordinator = await listen(t);
  const ollama = await fakeOllama(t);
  const args = ['--provider', 'ollama', '--coordinator', coordinator.url];
  const env = { SVC_API_KEY: key, SVC_LOCAL_MODEL_HOST: ollama.url };
  const worker = start(t, args, env, { ollama: { model: 'llama3.3' } });
  const session = await coordinator.session({ concurrency: 1 });
  t.like(session.of('hello')[0], {
    kind: 'local',
    concurrency: 1,
    models: { ollama: ['llama3.2', 'llama3.2:latest', 'qwen3:8b'] },
  });
  session.assign(job('a', { provider: 'ollama', model: 'llama3.2' }));
  const complete = await session.take('complete');
  t.is(complete.result.output, 'The sky is blau – größer 👍.');
  session.ack(complete);
  worker.child.kill('SIGTERM');
  const { code, out } = await worker.ended;
  t.is(code, 0);
  t.regex(out, /ollama does not report the configured model llama3\.3 \(ollama\.model\); it has llama3\.2,/);
});

test('addresses in the environment that are none end with 2, and are not repeated', async (t) => {
  const wrong: [Record<string, string>, RegExp][] = [
    [{ SVC_CONFIG_URL: 'ftp://a-secret' }, /SVC_CONFIG_URL: must be an address such as https:/],
    [{ SVC_CONFIG_URL: 'https://me:a-secret@host' }, /SVC_CONFIG_URL: must not contain a user name/],
    [{ SVC_LOCAL_MODEL_HOST: 'a-secret:11434' }, /SVC_LOCAL_MODEL_HOST: must be an address such as http:/],
  ];
  for (const [env, message] of wrong) {
    const { code, err } = await start(t, ['--provider', 'echo'], { SVC_API_KEY: key, ...env }).ended;
    t.is(code, 2);
    t.regex(err, message);
    t.false(err.includes('a-secret'));
  }
});

test('a remote configuration brings the key, the providers and the coordinator', async (t) => {
  const coordinator = await listen(t);
  const server = await serveConfig(
    t,
    JSON.stringify({
      worker: { api_key: key, providers: ['echo'], concurrency: 5, coordinator: coordinator.url },
    }),
  );
  const worker = start(t, ['--name', 'lab'], { SVC_CONFIG_URL: server.url.href });
  const session = await coordinator.session({ concurrency: 5 });
  t.like(session.of('hello')[0], { name: 'lab', providers: ['echo'], concurrency: 5 });
  t.is(session.request.headers.authorization, `Bearer ${key}`);
  t.is(server.seen[0]?.headers.authorization, undefined);
  worker.child.kill('SIGTERM');
  t.is((await worker.ended).code, 0);
});

test('without a key anywhere a remote configuration that cannot be read is said before the end', async (t) => {
  const server = await serveConfig(t, (_request, response) => response.writeHead(503).end());
  const { code, out, err } = await start(t, ['--provider', 'echo'], { SVC_CONFIG_URL: server.url.href })
    .ended;
  t.is(code, 2);
  t.regex(out, /the remote configuration at .* cannot be used: status 503/);
  t.regex(err, /no API key/);
});

test('the help shows examples, the environment and the exit codes', async (t) => {
  const { code, out } = await start(t, ['--help']).ended;
  t.is(code, 0);
  for (const word of [
    'Examples:',
    'SVC_API_KEY',
    'SVC_COORDINATOR_URL',
    'SVC_CONFIG_URL',
    'Exit codes:',
    '--grace',
  ]) {
    t.true(out.includes(word), word);
  }
});

test('it registers, answers a job, and SIGTERM ends it with 0 after what it runs is finished', async (t) => {
  const coordinator = await listen(t);
  const args = ['--provider', 'echo', '--concurrency', '3', '--name', 'lab', '--tag', 'eu', '--tag', 'gpu'];
  const worker = start(t, [...args, '--coordinator', coordinator.url], { SVC_API_KEY: key });
  const session = await coordinator.session({ concurrency: 3 });
  const [hello] = session.of('hello');
  t.like(hello, { name: 'lab', kind: 'local', providers: ['echo'], concurrency: 3 });
  t.deepEqual(hello?.tags, ['eu', 'gpu']);
  t.is(session.request.headers.authorization, `Bearer ${key}`);
  session.assign(job('a', { provider: 'echo', prompt: 'a canary', params: { echo_delay_ms: 200 } }));
  worker.child.kill('SIGTERM');
  await session.take('drain');
  const complete = await session.take('complete');
  t.is(complete.job_id, 'a');
  session.ack(complete);
  const { code, out } = await worker.ended;
  t.is(code, 0);
  t.is((await session.closed).code, 1001);
  t.notRegex(out, /canary/);
  t.false(out.includes(key));
  for (const line of out.trim().split('\n')) t.notThrows(() => JSON.parse(line));
});

test('the configuration file and the environment fill in what the flags leave out', async (t) => {
  const coordinator = await listen(t);
  const config = {
    worker: { name: 'from-file', providers: ['echo'], concurrency: 7, tags: ['t'], api_key: key },
  };
  const worker = start(t, ['--name', 'from-flag'], { SVC_COORDINATOR_URL: coordinator.url }, config);
  const session = await coordinator.connection();
  const hello = await session.take('hello');
  t.like(hello, { name: 'from-flag', providers: ['echo'], concurrency: 7 });
  t.is(session.request.headers.authorization, `Bearer ${key}`);
  worker.child.kill('SIGINT');
  t.is((await worker.ended).code, 0);
});

test('what is over the grace is given back, and outcomes that nobody acknowledges end it with 1', async (t) => {
  const coordinator = await listen(t);
  const args = ['--provider', 'echo', '--grace', '0', '--coordinator', coordinator.url];
  const worker = start(t, args, { SVC_API_KEY: key });
  const session = await coordinator.session({ concurrency: 4 });
  session.assign(job('a', { provider: 'echo', params: { echo_delay_ms: 3_600_000 } }));
  await session.settled();
  worker.child.kill('SIGTERM');
  t.is((await session.take('release')).job_id, 'a');
  t.is((await worker.ended).code, 1);
});
