import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import type { DispatchBody, WireJob } from '../../src/domain/wire/job.ts';
import {
  type Answer,
  completedJob,
  deadUrl,
  type Fixture,
  problem,
  type Seen,
  serve,
  wireJob,
} from '../client/server.ts';
import { adminKey } from '../support/process.ts';
import { startHere } from '../support/service.ts';
import { emptyFolder, svc } from './cli.ts';

const idOf = (index: number) => `01990000-0000-7000-8000-${String(index).padStart(12, '0')}`;

/** A coordinator that takes batches; job 2 of all fails, the others echo their input or prompt. */
async function serveBatches(t: ExecutionContext): Promise<Fixture & { taken: DispatchBody[] }> {
  const taken: DispatchBody[] = [];
  const ended = (id: string): WireJob => {
    const index = Number(id.slice(-12));
    const body = taken[index];
    if (index !== 2) return completedJob(body?.input ?? body?.prompt ?? '', { id });
    const error = { class: 'unknown' as const, code: 'x', message: 'it broke', status: null };
    return wireJob({ id, status: 'failed', error });
  };
  const fixture = await serve(t, ({ method, path, body }) => {
    if (method === 'GET') return { json: ended(path.split('/').at(-1) ?? '') };
    const { jobs } = body as { jobs: DispatchBody[] };
    const from = taken.length;
    taken.push(...jobs);
    const answered = jobs.map((_, index) => ({ id: idOf(from + index), status: 'pending' }));
    return { status: 201, json: { jobs: answered, count: jobs.length } };
  });
  return { ...fixture, taken };
}

async function folderWith(t: ExecutionContext, text: string | Buffer): Promise<string> {
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, 'jobs'), text);
  return cwd;
}

const posts = (seen: readonly Seen[]) => seen.filter(({ method }) => method === 'POST');

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

test('a file gives a job a line, and an answer a line in the same order', async (t) => {
  const { url, taken, seen } = await serveBatches(t);
  const cwd = await folderWith(
    t,
    '\ufefffirst\r\n\r\n"say \\"two\\""\n{"prompt": "third", "tags": ["own"]}\nfourth',
  );
  const flags = ['--provider', 'echo', '--tag', 'all', '--url', url];
  const { code, stdout, stderr } = await svc(t, ['run', '--file', 'jobs', ...flags], { cwd });
  const shared = { provider: 'echo', tags: ['all'] };
  t.deepEqual(taken, [
    { ...shared, prompt: 'first' },
    { ...shared, prompt: 'say "two"' },
    { ...shared, prompt: 'third', tags: ['own'] },
    { ...shared, prompt: 'fourth' },
  ]);
  t.is(posts(seen).length, 1);
  t.deepEqual(linesOf(stdout), [
    { line: 1, id: idOf(0), status: 'completed', output: 'first', error: null },
    { line: 3, id: idOf(1), status: 'completed', output: 'say "two"', error: null },
    { line: 4, id: idOf(2), status: 'failed', output: null, error: 'it broke' },
    { line: 5, id: idOf(3), status: 'completed', output: 'fourth', error: null },
  ]);
  t.is(code, 1);
  t.regex(stderr, /3 of 4 jobs completed/);
});

test('with a prompt the lines are what it is about', async (t) => {
  const { url, taken } = await serveBatches(t);
  const input = 'one text\n{"input": "another"}\n{"prompt": "own"}\n';
  const { stdout } = await svc(t, ['run', 'Summarise', '--file', '-', '--detach', '--url', url], { input });
  t.deepEqual(taken, [
    { prompt: 'Summarise', input: 'one text' },
    { prompt: 'Summarise', input: 'another' },
    { prompt: 'own' },
  ]);
  t.is(stdout, `${idOf(0)}\n${idOf(1)}\n${idOf(2)}\n`);
});

test('more than 10,000 lines are several batches', async (t) => {
  const { url, taken, seen } = await serveBatches(t);
  const input = Array.from({ length: 10_001 }, (_, index) => `line ${index}`).join('\n');
  const { code, stdout } = await svc(t, ['run', '--file', '-', '--detach', '--url', url], { input });
  t.is(code, 0);
  t.is(stdout.trimEnd().split('\n').length, 10_001);
  t.is(posts(seen).length, 2);
  t.is(taken[10_000]?.prompt, 'line 10000');
});

test('a line that is no job stops everything before it is sent, and is named', async (t) => {
  const { url, seen } = await serveBatches(t);
  const cwd = await folderWith(t, 'fine\n{"prompt": \n');
  const broken = await svc(t, ['run', '--file', 'jobs', '--url', url], { cwd });
  t.is(broken.code, 2);
  t.regex(broken.stderr, /jobs:2: begins like JSON but is not valid JSON/);
  const empty = await svc(t, ['run', '--file', '-', '--url', url], { input: '\n \n' });
  t.is(empty.code, 2);
  t.regex(empty.stderr, /contains no jobs/);
  const latin1 = await folderWith(t, Buffer.from('Grüße', 'latin1'));
  t.regex((await svc(t, ['run', '--file', 'jobs', '--url', url], { cwd: latin1 })).stderr, /is not UTF-8/);
  t.is((await svc(t, ['run', '--file', 'none', '--url', url])).code, 2);
  t.is((await svc(t, ['run', '--file', 'jobs', '--input', 'x', '--url', url], { cwd })).code, 2);
  const neither = await svc(t, ['run', '--url', url]);
  t.is(neither.code, 2);
  t.regex(neither.stderr, /give a prompt or --file/);
  t.is(seen.length, 0);
});

test('what the coordinator refuses is told with the lines of the file', async (t) => {
  const { url } = await serve(t, () =>
    problem(400, 'invalid_request', 'The batch is not valid', {
      errors: [
        { field: 'jobs[1].priority', message: 'must be one of high, normal' },
        { field: 'jobs[2]', message: 'must be an object' },
      ],
    }),
  );
  const cwd = await folderWith(t, 'fine\n\nno\nnot\n');
  const { code, stderr } = await svc(t, ['run', '--file', 'jobs', '--url', url], { cwd });
  t.is(code, 2);
  t.regex(stderr, /jobs:3: priority must be one of high, normal\njobs:4: must be an object/);
});

test('a batch whose answer is lost is sent again, and makes no second jobs', async (t) => {
  const { url } = await startHere(t);
  let asked = 0;
  /** Passes everything on, but gives nothing back of the first two batches, the second of which never arrives. */
  const lossy = await serve(t, async ({ method, path, headers, body }): Promise<Answer> => {
    const isBatch = path === '/api/jobs/batch';
    if (isBatch) asked += 1;
    if (isBatch && asked === 2) return (response) => response.destroy();
    const key = headers['idempotency-key'];
    const passed = await fetch(url + path, {
      method,
      headers: {
        authorization: headers.authorization ?? '',
        'content-type': 'application/json',
        ...(typeof key === 'string' ? { 'idempotency-key': key } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (isBatch && asked === 1) return (response) => response.destroy();
    return { status: passed.status, json: await passed.json() };
  });
  const env = { SVC_API_KEY: adminKey };
  const run = ['run', '--file', '-', '--provider', 'echo', '--detach', '--url', lossy.url];
  const { code, stdout, stderr } = await svc(t, run, { input: 'one\ntwo\nthree\n', env });
  t.is(code, 0);
  t.regex(stderr, /^cannot reach the coordinator at .*; retrying\n$/);
  const batches = posts(lossy.seen);
  t.is(batches.length, 3);
  t.is(new Set(batches.map(({ headers }) => headers['idempotency-key'])).size, 1);
  const answer = await fetch(`${url}/api/jobs`, { headers: { authorization: `Bearer ${adminKey}` } });
  const list = (await answer.json()) as { jobs: WireJob[] };
  t.deepEqual(
    list.jobs.map(({ id }) => id),
    stdout.trimEnd().split('\n').toReversed(),
  );
});

test('a full queue is waited for, and a coordinator that is not there is not', async (t) => {
  let asked = 0;
  const { url, seen } = await serve(t, ({ method }) => {
    if (method === 'GET') return { json: {} };
    asked += 1;
    if (asked === 1) {
      const json = { code: 'queue_full', detail: '9 jobs are waiting' };
      return { status: 429, json, headers: { 'retry-after': '0' } };
    }
    return { status: 201, json: { jobs: [{ id: idOf(0), status: 'pending' }], count: 1 } };
  });
  const { code, stderr } = await svc(t, ['run', '--file', '-', '--detach', '--url', url], { input: 'one' });
  t.is(code, 0);
  t.is(stderr, '9 jobs are waiting; retrying\n');
  t.is(posts(seen).length, 2);
  const none = await svc(t, ['run', '--file', '-', '--url', await deadUrl()], { input: 'one' });
  t.is(none.code, 3);
  t.regex(none.stderr, /is the coordinator running/);
});

test('a file runs on a real coordinator and worker', async (t) => {
  const { url } = await startHere(t, { workers: 50 });
  const input = Array.from({ length: 300 }, (_, index) => `{"prompt": "p", "input": "text ${index}"}`).join(
    '\n',
  );
  const { code, stdout } = await svc(
    t,
    ['run', '--file', '-', '--provider', 'echo', '--json', '--url', url],
    {
      input,
      env: { SVC_API_KEY: adminKey },
    },
  );
  t.is(code, 0);
  const jobs: WireJob[] = linesOf(stdout);
  t.deepEqual(
    jobs.map(({ status, result }, index) => [status, result?.output.includes(`text ${index}`)]),
    Array(300).fill(['completed', true]),
  );
});
