import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { completedJob, type Fixture, jobId, serve, wireJob } from '../client/server.ts';
import { emptyFolder, svc, svcProcess } from './cli.ts';

/** A coordinator that takes any job and shows it as `ended` from then on. */
function serveJob(t: ExecutionContext, ended: WireJob, dispatched = wireJob()): Promise<Fixture> {
  return serve(t, ({ method }) => (method === 'POST' ? { status: 201, json: dispatched } : { json: ended }));
}

test('the output goes to standard output and nothing else does', async (t) => {
  const { url, seen } = await serveJob(t, completedJob('first line\nsecond line'));
  const { code, stdout, stderr } = await svc(t, ['run', 'Say hello', '--url', url]);
  t.is(code, 0);
  t.is(stdout, 'first line\nsecond line\n');
  t.is(stderr, '');
  t.deepEqual(seen[0]?.body, { prompt: 'Say hello' });
  t.regex(seen[0]?.headers['idempotency-key']?.toString() ?? '', /^[0-9a-f-]{36}$/);
});

test('a pipe gets the output byte for byte, control characters and all', async (t) => {
  const { url } = await serveJob(t, completedJob('\u001b[31mred\u001b[0m\r\n'));
  const { stdout } = await svc(t, ['run', 'x', '--url', url]);
  t.is(stdout, '\u001b[31mred\u001b[0m\r\n');
});

test('every option reaches the request', async (t) => {
  const { url, seen } = await serveJob(t, completedJob());
  const options = [
    '--provider',
    'echo',
    '--model',
    'm',
    '--priority',
    'high',
    '--tier',
    'gold',
    '--timeout',
    '1.5',
  ];
  const tags = ['--tag', 'a', '--tag', 'b'];
  const params = [
    '--param',
    'temperature=0.2',
    '--param',
    'stop=["a","b"]',
    '--param',
    'echo_output=a=b',
    '--param',
    'e=',
  ];
  await svc(t, ['run', 'x', ...options, ...tags, ...params, '--input', 'text', '--url', url]);
  t.deepEqual(seen[0]?.body, {
    prompt: 'x',
    input: 'text',
    provider: 'echo',
    model: 'm',
    priority: 'high',
    tier: 'gold',
    tags: ['a', 'b'],
    params: { temperature: 0.2, stop: ['a', 'b'], echo_output: 'a=b', e: '' },
    timeout_seconds: 1.5,
  });
});

test('the input may come from a file or from standard input', async (t) => {
  const { url, seen } = await serveJob(t, completedJob());
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, 'text.md'), 'Grüße\n');
  await svc(t, ['run', 'x', '--input', '@text.md', '--url', url], { cwd });
  await svc(t, ['run', 'x', '--input', '-', '--url', url], { input: 'from a pipe ✓' });
  const inputs = seen.filter(({ method }) => method === 'POST').map(({ body }) => body);
  t.deepEqual(inputs, [
    { prompt: 'x', input: 'Grüße\n' },
    { prompt: 'x', input: 'from a pipe ✓' },
  ]);
});

test('an input that is not UTF-8 is refused with 2 before anything is sent', async (t) => {
  const { url, seen } = await serveJob(t, completedJob());
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, 'latin1.txt'), Buffer.from('Gr\u00fc\u00dfe', 'latin1'));
  const { code, stderr } = await svc(t, ['run', 'x', '--input', '@latin1.txt', '--url', url], { cwd });
  t.is(code, 2);
  t.regex(stderr, /--input: latin1\.txt is not UTF-8/);
  t.is(seen.length, 0);
});

test('--json prints the job as the API shows it', async (t) => {
  const job = completedJob('hello');
  const { url } = await serveJob(t, job);
  const { code, stdout } = await svc(t, ['run', 'x', '--json', '--url', url]);
  t.is(code, 0);
  t.deepEqual(JSON.parse(stdout), job);
});

test('--detach prints the id and does not wait', async (t) => {
  const { url, seen } = await serveJob(t, wireJob());
  const { code, stdout } = await svc(t, ['run', 'x', '--detach', '--url', url]);
  t.is(code, 0);
  t.is(stdout, `${jobId}\n`);
  t.is(seen.length, 1);
});

test('a job that failed ends with 1 and says why', async (t) => {
  const error = {
    class: 'auth',
    code: 'authentication_failed',
    message: '401 Unauthorized: \u001b[2Jno',
    status: 401,
  } as const;
  const failed = wireJob({ status: 'failed', error });
  const { url } = await serveJob(t, failed);
  const { code, stdout, stderr } = await svc(t, ['run', 'x', '--url', url]);
  t.is(code, 1);
  t.is(stdout, '');
  t.is(stderr, `error: job ${jobId} failed: 401 Unauthorized: no\n`);
  const json = await svc(t, ['run', 'x', '--json', '--url', url]);
  t.is(json.code, 1);
  t.deepEqual(JSON.parse(json.stdout), failed);
});

test('a job that was cancelled ends with 1', async (t) => {
  const { url } = await serveJob(t, wireJob({ status: 'cancelled' }));
  const { code, stderr } = await svc(t, ['run', 'x', '--url', url]);
  t.is(code, 1);
  t.regex(stderr, /was cancelled/);
});

test('when the time to wait is over it ends with 124 and says that the job goes on', async (t) => {
  const { url } = await serveJob(t, wireJob());
  const { code, stdout, stderr } = await svc(t, ['run', 'x', '--wait', '0.2', '--url', url]);
  t.is(code, 124);
  t.is(stdout, '');
  t.regex(stderr, new RegExp(`svc jobs get ${jobId} shows it`));
});

test('Ctrl-C ends the wait with 130 and says that the job goes on', async (t) => {
  const fixture = await serve(t, ({ method }) => {
    if (method === 'POST') return { status: 201, json: wireJob() };
    // The wait has begun: now the key is pressed.
    interrupt?.('SIGINT');
    return { json: wireJob() };
  });
  let interrupt: ((signal: NodeJS.Signals) => void) | undefined;
  const { code, stderr } = await svcProcess(t, ['run', 'x', '--url', fixture.url], {
    onStart: (kill) => {
      interrupt = kill;
    },
  });
  t.is(code, 130);
  t.regex(stderr, /keeps running/);
});

test('a job that waits for what does not come by itself says so at once', async (t) => {
  const waiting = {
    reason: 'no_worker',
    detail: 'No connected worker serves nobody',
    until: null,
    position: 1,
  } as const;
  const { url } = await serveJob(t, completedJob(), wireJob({ waiting }));
  const { stderr } = await svc(t, ['run', 'x', '--url', url]);
  t.regex(stderr, /waits: No connected worker serves nobody/);
});

test('what is wrong with the request is told field by field, with 2', async (t) => {
  const { url } = await serve(t, () => ({
    status: 400,
    json: {
      code: 'invalid_request',
      detail: 'The request is not valid',
      errors: [{ field: 'priority', message: 'must be one of high, normal' }],
    },
  }));
  const { code, stderr } = await svc(t, ['run', 'x', '--priority', 'urgent', '--url', url]);
  t.is(code, 2);
  t.is(stderr, 'error: The request is not valid\n  priority must be one of high, normal\n');
});
