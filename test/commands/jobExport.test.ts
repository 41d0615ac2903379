import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { completedJob, jobId, problem, type Seen, serve, wireJob } from '../client/server.ts';
import { emptyFolder, svc, svcProcess } from './cli.ts';

function exportOf(jobs: readonly WireJob[]) {
  return ({ path }: Seen) =>
    path === '/api/jobs/export'
      ? (response: import('node:http').ServerResponse) => {
          response.writeHead(200, { 'content-type': 'application/x-ndjson' });
          for (const job of jobs) response.write(`${JSON.stringify(job)}\n`);
          response.end();
        }
      : problem(404, 'not_found', 'nothing there');
}

test('an export is NDJSON on standard output, as the API shows the jobs', async (t) => {
  const jobs = Array.from({ length: 10_000 }, (_, n) => wireJob({ id: `job-${n}`, prompt: `Prompt ${n} ü` }));
  const { url, seen } = await serve(t, exportOf(jobs));
  const filters = [
    ...['--status', 'failed', '--state', 'running.stuck', '--tag', 'a', '--worker', jobId],
    ...['--provider', 'echo', '--model', 'm', '--priority', 'high', '--tier', 'gold', '--query', 'rivers'],
    ...['--since', '2026-11-01', '--until', '2026-12-01', '--archived'],
  ];
  const { code, stdout, stderr } = await svc(t, ['jobs', 'export', ...filters, '--url', url]);
  t.is(code, 0, stderr);
  t.is(stderr, '');
  t.deepEqual(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
    jobs,
  );
  t.deepEqual(Object.fromEntries(seen[0]?.query ?? []), {
    status: 'failed',
    state: 'running.stuck',
    tag: 'a',
    worker: jobId,
    provider: 'echo',
    model: 'm',
    priority: 'high',
    tier: 'gold',
    q: 'rivers',
    created_after: '2026-11-01T00:00:00.000Z',
    created_before: '2026-12-01T00:00:00.000Z',
    archived: 'true',
  });
});

test('as CSV it has a header and a row a job, and is no formula of a stranger', async (t) => {
  const failed = wireJob({
    status: 'failed',
    prompt: '=HYPERLINK("http://x","y")',
    tags: ['a', 'b'],
    error: { class: 'overloaded', code: 'overloaded', message: 'too, much', status: 529 },
  });
  const { url } = await serve(t, exportOf([completedJob('two\nlines'), failed]));
  const { code, stdout } = await svc(t, ['jobs', 'export', '--format', 'csv', '--url', url]);
  t.is(code, 0);
  const [header, ...rows] = stdout.split('\r\n');
  t.regex(header ?? '', /^id,status,created_at,.*,prompt,input,output$/);
  t.is(rows.length, 3);
  t.true(rows[0]?.startsWith(`${jobId},completed,2026-11-21T09:00:00.000Z,`));
  t.true(rows[0]?.endsWith(',Say hello,,"two\nlines"'));
  t.regex(rows[1] ?? '', /,a b,.*,"overloaded: too, much","'=HYPERLINK\(""http:\/\/x"",""y""\)",,$/);
});

test('--output writes a file for its owner alone, and says how many jobs are in it', async (t) => {
  const cwd = await emptyFolder(t);
  const { url } = await serve(t, exportOf([completedJob('x')]));
  const { code, stdout, stderr } = await svc(t, ['jobs', 'export', '--output', 'out.ndjson', '--url', url], {
    cwd,
  });
  t.deepEqual([code, stdout, stderr], [0, '', '1 job in out.ndjson\n']);
  t.is(JSON.parse(await readFile(join(cwd, 'out.ndjson'), 'utf8')).result.output, 'x');
  t.is((await stat(join(cwd, 'out.ndjson'))).mode & 0o777, 0o600);
  const refused = await svc(t, ['jobs', 'export', '--output', 'no/such/file', '--url', url], { cwd });
  t.is(refused.code, 1);
  t.regex(refused.stderr, /no\/such\/file cannot be written: ENOENT/);
});

test('a pipe that is closed early is no failure', async (t) => {
  const jobs = Array.from({ length: 20_000 }, (_, n) => wireJob({ id: `job-${n}` }));
  const { url } = await serve(t, exportOf(jobs));
  const { code, stderr } = await svcProcess(t, ['jobs', 'export', '--url', url], { closesOutput: true });
  t.deepEqual([code, stderr], [0, '']);
});

test('an export that breaks off ends with an error', async (t) => {
  const cwd = await emptyFolder(t);
  const { url } = await serve(t, () => (response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.write(`${JSON.stringify(wireJob())}\n{`, () => response.destroy());
  });
  const { code, stderr } = await svc(t, ['jobs', 'export', '--output', 'part', '--url', url], { cwd });
  t.is(code, 3);
  t.regex(stderr, /^part contains only a part of the jobs\.\nerror: cannot reach the coordinator/);
});
