import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { RunLineBody, WireRun } from '../../../src/domain/wire/run.ts';
import { type Answer, problem, type Seen, serve } from '../../client/server.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { svc } from '../cli.ts';
import { wireRun } from './wireRun.ts';

interface Fake {
  /** What the batches are answered with; undefined: they are taken. */
  onJobs?: (lines: RunLineBody[]) => Answer | undefined;
  run?: Partial<WireRun>;
}

/** A coordinator that has one run, and a file of ten prompts beside it. */
async function startFake(t: ExecutionContext, { onJobs, run = {} }: Fake) {
  const taken: RunLineBody[] = [];
  const fixture = await serve(t, ({ path, body }: Seen): Answer => {
    if (path === '/api/jobs') return { json: { jobs: [], total: 0, limit: 1, offset: 0 } };
    if (path.endsWith('/jobs')) {
      const lines = body as RunLineBody[];
      const refused = onJobs?.(lines);
      if (refused !== undefined) return refused;
      taken.push(...lines);
      return { json: { created: lines.length, known: 0 } };
    }
    if (path.endsWith('/results')) {
      const ids = (body as { line_ids: string[] }).line_ids;
      const isTaken = (id: string) => taken.some(({ line_id: known }) => known === id);
      const lines = ids.map((id) =>
        isTaken(id)
          ? { line_id: id, status: 'completed', output: `to ${id}`, error: null }
          : { line_id: id, status: null, output: null, error: null },
      );
      return (response) => response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    }
    const counts = { total: 10, completed: 10, pending: 0, running: 0, failed: 0, cancelled: 0 };
    return { json: wireRun({ name: 'r', status: 'completed', counts, ...run }) };
  });
  const cwd = temporaryFolder(t);
  const lines = Array.from({ length: 10 }, (_, index) =>
    JSON.stringify({ custom_id: `l${index}`, prompt: 'p' }),
  );
  writeFileSync(join(cwd, 'p.jsonl'), `\n${lines.join('\n')}\n`);
  const start = (...more: string[]) =>
    svc(t, ['run', '--file', 'p.jsonl', '--run', 'r', '--url', fixture.url, ...more], { cwd });
  return { ...fixture, taken, start };
}

test('what the coordinator refuses is said with the lines of the file', async (t) => {
  const errors = [
    { field: 'jobs[1].priority', message: 'must be one of high, normal' },
    { field: 'jobs[2]', message: 'must be an object' },
  ];
  const fake = await startFake(t, {
    onJobs: () => problem(400, 'invalid_request', 'The batch is not valid', { errors }),
  });
  const { code, stderr, stdout } = await fake.start();
  t.is(code, 2);
  t.is(stdout, '');
  t.regex(stderr, /p\.jsonl:3: priority must be one of high, normal\np\.jsonl:4: must be an object/);
});

test('a batch that is too large is sent in parts, and a line that is too large is named', async (t) => {
  const tooLarge = problem(413, 'payload_too_large', 'The body is larger than 9 bytes');
  const fake = await startFake(t, { onJobs: (lines) => (lines.length > 3 ? tooLarge : undefined) });
  const { code, stdout } = await fake.start('--model', 'm');
  t.is(code, 0);
  t.deepEqual(
    fake.taken.map(({ line_id, model }) => [line_id, model]),
    Array.from({ length: 10 }, (_, index) => [`l${index}`, 'm']),
  );
  t.is(stdout.trimEnd().split('\n').length, 10);
  const never = await startFake(t, { onJobs: () => tooLarge });
  t.regex((await never.start()).stderr, /p\.jsonl:2: The body is larger than 9 bytes/);
});

test('a batch whose answer is lost is sent again', async (t) => {
  let asked = 0;
  const fake = await startFake(t, {
    onJobs: () => {
      asked += 1;
      return asked === 1 ? (response) => response.destroy() : undefined;
    },
  });
  const { code, stderr } = await fake.start();
  t.is(code, 0);
  t.is(fake.taken.length, 10);
  t.regex(stderr, /^cannot reach the coordinator at .*; retrying\n$/);
});

test('a paused run whose jobs fill the queue does not keep the command waiting', async (t) => {
  const json = { code: 'queue_full', detail: '9 jobs are waiting' };
  const full: Answer = { status: 429, json, headers: { 'retry-after': '1' } };
  const paused = { reason: 'operator', detail: 'Ada paused it', at: '2026-11-21T09:05:00.000Z' } as const;
  const counts = { total: 4, completed: 1, pending: 3, running: 0, failed: 0, cancelled: 0 };
  const fake = await startFake(t, { onJobs: () => full, run: { status: 'paused', paused, counts } });
  const { code, stderr } = await fake.start('--output', 'o.csv');
  t.is(stderr.match(/9 jobs are waiting; retrying/g)?.length, 1);
  t.regex(stderr, /Run r is paused: Ada paused it\n {2}svc runs resume r lets it go on/);
  t.is(code, 1);
});
