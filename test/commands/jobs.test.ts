import test from 'ava';
import type { WireJobList } from '../../src/domain/wire/job.ts';
import {
  completedJob,
  jobId,
  problem,
  type Seen,
  serve,
  streamOf,
  wireAttempt,
  wireJob,
  wireWorker,
} from '../client/server.ts';
import { svc, svcProcess } from './cli.ts';

const otherId = '01990000-0000-7000-8000-0000000001aa';

function listOf(jobs: WireJobList['jobs'], total = jobs.length): WireJobList {
  return { jobs, total, limit: 50, offset: 0 };
}

test('a list is an aligned table with whole ids and whole prompts for a pipe', async (t) => {
  const prompt = `Summarise\nthis ${'and that '.repeat(20)}\u001b[31m`;
  const failed = wireJob({
    id: otherId,
    status: 'failed',
    provider: null,
    cost_status: 'unknown',
    priority: 'background',
  });
  const { url } = await serve(t, () => ({ json: listOf([completedJob('x', { prompt }), failed]) }));
  const { code, stdout, stderr } = await svc(t, ['jobs', 'list', '--url', url]);
  t.is(code, 0);
  t.is(stderr, '');
  const [header = '', first = '', second = '', ...rest] = stdout.trimEnd().split('\n');
  t.deepEqual(rest, []);
  t.regex(header, /^ID +STATUS +PROVIDER +MODEL +PRIORITY +AGE +RAN +COST +PROMPT$/);
  t.true(first.startsWith(`${jobId}  completed  echo`));
  t.regex(first, /2\.5 s +\$0\.0012 +Summarise this and that/);
  t.true(first.endsWith('and that'));
  t.regex(second, /^\S+ {2}failed {5}\(routed\) {2}- {6}background .* \? {2}Say hello$/);
  t.is(first.indexOf('Summarise'), header.indexOf('PROMPT'));
});

test('filters reach the API', async (t) => {
  const worker = wireWorker();
  const { url, seen } = await serve(t, ({ path }) =>
    path === '/api/workers' ? { json: { workers: [worker], total: 1 } } : { json: listOf([]) },
  );
  const filters = [
    ...['--status', 'failed,cancelled', '--state', 'running.stuck', '--provider', 'p', '--model', 'm'],
    ...['--worker', worker.name, '--priority', 'low', '--tier', 'gold', '--tag', 'a', '--tag', 'b'],
    ...['--metadata', 'customer=a=b', '--query', 'x y', '--limit', '5', '--offset', '10'],
    ...['--since', '2026-11-01', '--until', '2026-11-21T09:00:00+01:00'],
  ];
  const { code, stdout, stderr } = await svc(t, ['jobs', 'list', ...filters, '--url', url]);
  t.is(code, 0);
  t.is(stdout, '');
  t.is(stderr, 'No jobs.\n');
  const { query } = seen.at(-1) ?? { query: new URLSearchParams() };
  t.deepEqual(Object.fromEntries(query), {
    status: 'failed,cancelled',
    state: 'running.stuck',
    provider: 'p',
    model: 'm',
    worker: worker.id,
    priority: 'low',
    tier: 'gold',
    tag: 'b',
    metadata: 'customer=a=b',
    q: 'x y',
    limit: '5',
    offset: '10',
    created_after: '2026-11-01T00:00:00.000Z',
    created_before: '2026-11-21T08:00:00.000Z',
  });
  t.deepEqual(query.getAll('tag'), ['a', 'b']);
});

test('jobs of a worker that nobody knows are refused with 5 and the nearest name; its id alone is good', async (t) => {
  const { url, seen } = await serve(t, ({ path }) =>
    path === '/api/workers' ? { json: { workers: [wireWorker()], total: 1 } } : { json: listOf([]) },
  );
  for (const command of ['list', 'export']) {
    const { code, stderr } = await svc(t, ['jobs', command, '--worker', 'box-l', '--url', url]);
    t.is(code, 5);
    t.regex(stderr, /There is no worker box-l; did you mean box-1\?/);
  }
  const forgotten = '01990000-0000-7000-8000-00000000ffff';
  t.is((await svc(t, ['jobs', 'list', '--worker', forgotten, '--url', url])).code, 0);
  t.is(seen.at(-1)?.query.get('worker'), forgotten);
});

test('a list that is longer than what is shown says so on standard error', async (t) => {
  const { url } = await serve(t, () => ({ json: listOf([wireJob()], 70) }));
  const { stderr } = await svc(t, ['jobs', 'list', '--url', url]);
  t.is(stderr, '1 to 1 of 70; --offset 1 shows the next\n');
});

test('--json prints what the API answered', async (t) => {
  const list = listOf([wireJob({ prompt: 'with C1 \u009b31m and DEL \u007f' })]);
  const { url } = await serve(t, () => ({ json: list }));
  const { stdout } = await svc(t, ['jobs', 'list', '--json', '--url', url]);
  t.deepEqual(JSON.parse(stdout), list);
  t.true(stdout.includes('\\u009b31m and DEL \\u007f'));
});

/** Knows one job by its id, and finds jobs by a part of it. */
function jobServer(ids: string[]) {
  return ({ path, query }: Seen) => {
    if (path === '/api/jobs') {
      const q = query.get('q') ?? '';
      return { json: listOf(ids.filter((id) => id.includes(q)).map((id) => wireJob({ id }))) };
    }
    const id = ids.find((known) => path.includes(known));
    if (id === undefined) return problem(404, 'job_not_found', 'There is no such job');
    return { json: completedJob('the output', { id, input: 'the input', attempts: [wireAttempt()] }) };
  };
}

test('a job is shown whole, by its id or by a part of it', async (t) => {
  const { url } = await serve(t, jobServer([jobId]));
  for (const ref of [jobId, '000000aa', '000000AA']) {
    const { code, stdout } = await svc(t, ['jobs', 'get', ref, '--url', url]);
    t.is(code, 0);
    t.regex(stdout, new RegExp(`^Job +${jobId}\nStatus +completed\n`));
    t.regex(stdout, /\nWaited +1\.0 s\nRan +2\.5 s\nCost +\$0\.0012\n/);
    t.regex(stdout, /\nInput\n {2}the input\n\nOutput\n {2}the output\n$/);
  }
});

test('a part that several ids have, or none, is refused with 5', async (t) => {
  const { url } = await serve(t, jobServer([jobId, otherId]));
  const several = await svc(t, ['jobs', 'get', 'aa', '--url', url]);
  t.is(several.code, 5);
  t.regex(several.stderr, new RegExp(`part of several ids: ${jobId}, ${otherId}`));
  const none = await svc(t, ['jobs', 'get', 'ffff', '--url', url]);
  t.is(none.code, 5);
  t.regex(none.stderr, /no job with ffff in its id/);
  const unknown = await svc(t, ['jobs', 'get', otherId.replace('1aa', '2bb'), '--url', url]);
  t.is(unknown.code, 5);
});

test('--output prints the output and nothing else', async (t) => {
  const { url } = await serve(t, jobServer([jobId]));
  t.is((await svc(t, ['jobs', 'get', jobId, '--output', '--url', url])).stdout, 'the output\n');
  const pending = await serve(t, () => ({ json: wireJob() }));
  const { code, stdout, stderr } = await svc(t, ['jobs', 'get', jobId, '--output', '--url', pending.url]);
  t.is(code, 5);
  t.is(stdout, '');
  t.regex(stderr, /is pending and has no output/);
});

for (const act of ['cancel', 'retry'] as const) {
  test(`${act} acts on every job that is named`, async (t) => {
    const { url, seen } = await serve(t, jobServer([jobId, otherId]));
    const { code, stdout } = await svc(t, ['jobs', act, jobId, '0001aa', '--url', url]);
    t.is(code, 0);
    t.is(stdout, `${jobId}  completed\n${otherId}  completed\n`);
    const posts = seen.filter(({ method }) => method === 'POST').map(({ path }) => path);
    t.deepEqual(posts, [`/api/jobs/${jobId}/${act}`, `/api/jobs/${otherId}/${act}`]);
  });
}

test('a refused cancel ends with 5 and the reason', async (t) => {
  const { url } = await serve(t, () =>
    problem(409, 'invalid_transition', 'It is completed', { job_status: 'completed' }),
  );
  const { code, stderr } = await svc(t, ['jobs', 'cancel', jobId, '--url', url]);
  t.is(code, 5);
  t.is(stderr, 'error: It is completed\n');
});

test('watching a job prints a line for each state and ends with it', async (t) => {
  const states = [wireJob(), wireJob(), wireJob({ status: 'running', worker_id: 'w-1' }), completedJob()];
  const { url } = await serve(t, ({ path }) =>
    path.endsWith('/events') ? streamOf(states) : { json: completedJob() },
  );
  const { code, stdout } = await svc(t, ['jobs', 'watch', jobId, '--url', url]);
  t.is(code, 0);
  const words = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/\s+/)[1]);
  t.deepEqual(words, ['pending', 'running', 'completed']);
});

test('watching a job that fails ends with 1', async (t) => {
  const failed = wireJob({ status: 'failed' });
  const { url } = await serve(t, ({ path }) =>
    path.endsWith('/events') ? streamOf([failed]) : { json: failed },
  );
  t.is((await svc(t, ['jobs', 'watch', jobId, '--url', url])).code, 1);
});

test('watching all jobs prints a line for each change from then on until Ctrl-C, and outlives a bad answer', async (t) => {
  const other = wireJob({ id: otherId, prompt: 'second' });
  const answers = [listOf([wireJob()]), null, listOf([other, wireJob({ status: 'running' })])];
  const { url } = await serve(t, () => {
    const json = answers.length > 1 ? answers.shift() : answers[0];
    return json === null ? problem(503, 'draining', 'Shutting down') : { json };
  });
  const { code, stdout, stderr } = await svcProcess(t, ['jobs', 'watch', '--url', url], {
    onOutput: (text, kill) => {
      if (text.includes('second')) kill('SIGINT');
    },
  });
  t.is(code, 0);
  t.is(stderr, '');
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/).slice(1));
  t.deepEqual(lines, [
    ['000000aa', 'running', 'Say hello'],
    ['000001aa', 'pending', 'second'],
  ]);
});
