import { stripVTControlCharacters } from 'node:util';
import test from 'ava';
import { ApiError, Unreachable } from '../../../src/client/client.ts';
import { checkRunName, runNameFor } from '../../../src/commands/runs/beginRun.ts';
import { isAtRest } from '../../../src/commands/runs/followRun.ts';
import { Patience } from '../../../src/commands/runs/patience.ts';
import { createProgress, progressLines } from '../../../src/commands/runs/progress.ts';
import { runSheet, runTable } from '../../../src/commands/runs/runSheet.ts';
import { outputTokensOf, TokenCounter } from '../../../src/commands/runs/tokens.ts';
import { runNamePattern } from '../../../src/domain/run.ts';
import { fakeIo } from '../screens.ts';
import { wireRun } from './wireRun.ts';

const now = Date.parse('2026-11-21T09:10:00.000Z');

test('a run without a name gets one of its file and the time', (t) => {
  const at = new Date('2026-11-23T09:15:00.000Z');
  t.is(runNameFor('/data/My prompts (2).csv', at, 0.5), 'My-prompts-2--20261123-091500-800');
  t.is(runNameFor('-', at, 0), 'stdin-20261123-091500-000');
  for (const file of ['.hidden', 'ü.txt', '..', 'x'.repeat(300)])
    t.regex(runNameFor(file, at, 0.99), runNamePattern);
  t.is(checkRunName('review-nov'), 'review-nov');
  for (const name of ['', '-x', 'a b', 'a/b', 'x'.repeat(101)])
    t.throws(() => checkRunName(name), { message: /--run/ });
});

test('a run is at rest when it is over, or paused and nothing of it runs', (t) => {
  const counts = { total: 3, pending: 2, running: 0, completed: 1, failed: 0, cancelled: 0 };
  t.false(isAtRest(wireRun({ counts })));
  t.true(isAtRest(wireRun({ counts, status: 'paused' })));
  t.false(isAtRest(wireRun({ counts: { ...counts, running: 1 }, status: 'paused' })));
  t.true(isAtRest(wireRun({ counts: { ...counts, pending: 0 } })));
  t.false(isAtRest(wireRun({ counts: { ...counts, total: 0, pending: 0, completed: 0 } })));
});

test('progress says what is done, how fast, what it costs and why jobs wait', (t) => {
  const run = wireRun({
    counts: { total: 2000, pending: 1200, running: 20, completed: 777, failed: 3, cancelled: 0 },
    rate_per_minute: 120.4,
    eta: '2026-11-21T09:20:00.000Z',
    input_tokens: 12_000,
    output_tokens: 345,
    cost_usd: 1.2,
    cost_expected_usd: 3,
    unknown_cost_attempts: 1,
    max_cost_usd: 5,
  });
  t.deepEqual(
    progressLines({ run, lines: 2500, sent: 2000, waiting: 'All slots\u001b[2J are taken' }, now),
    [
      '[######--------------] 780/2,500 (31 %) · 3 failed · 20 running · 1,200 waiting · 2,000 of 2,500 sent',
      '120/min · 10 min left · 12.3K tokens · ≥$1.20 of $3.00 expected · limit $5.00 · All slots are taken',
    ].map((line) => line.replace('12.3K', '12.3k')),
  );
});

test('a terminal has two lines that are rewritten in its width, and none stay', (t) => {
  const { io, err } = fakeIo({ columns: 40, env: { NO_COLOR: '1' } });
  const progress = createProgress(io.err, io.env);
  const moment = { run: wireRun(), lines: null, sent: null, waiting: 'a long reason '.repeat(10) };
  progress.show(moment);
  progress.show(moment);
  t.is(err().split('\n').length, 3);
  for (const line of err()
    .replaceAll('\r', '\n')
    .split('\n')
    .map((text) => stripVTControlCharacters(text)))
    t.true(line.length < 40, line);
  progress.say('said');
  t.true(err().endsWith('\u001b[K\u001b[A\r\u001b[Ksaid\n') || err().includes('said\n'));
  progress.clear();
  t.true(err().endsWith('said\n'));
});

test('elsewhere a line comes every 30 seconds', (t) => {
  for (const setting of [{}, { columns: 80, env: { TERM: 'dumb' } }]) {
    const { io, err } = fakeIo(setting);
    let at = 0;
    const progress = createProgress(io.err, io.env, () => at);
    const moment = { run: wireRun(), lines: null, sent: null, waiting: null };
    for (; at <= 65_000; at += 1_000) progress.show(moment);
    t.is(err().trimEnd().split('\n').length, 2);
    t.is(stripVTControlCharacters(err()), err());
  }
});

test('requests are repeated while the coordinator is away or its queue is full, and said once for each reason', async (t) => {
  const said: string[] = [];
  const patience = new Patience(new AbortController().signal, (text) => said.push(text), true);
  const full = new ApiError(503, { code: 'queue_full', detail: '9 jobs are waiting' }, 0);
  const failures = [full, full, new ApiError(429, { code: 'share_exceeded', detail: 'too many' }, 0), full];
  t.is(
    await patience.ask(async () => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return 'done';
    }),
    'done',
  );
  t.deepEqual(said, ['9 jobs are waiting; retrying', 'too many; retrying', '9 jobs are waiting; retrying']);
  const impatient = new Patience(new AbortController().signal, () => {}, false);
  const away = impatient.ask(() => Promise.reject(new Unreachable('http://x', 'ECONNREFUSED')));
  await t.throwsAsync(away, { instanceOf: Unreachable });
});

test('tokens are counted by the tokenizer of a known model, else by their bytes', async (t) => {
  const count = async (model: string | null, prompt: string) => {
    const counter = await TokenCounter.of(model);
    counter.add({ prompt });
    return counter;
  };
  const known = await count('gpt-4o-mini', 'hello world');
  t.is(known.tokens, 2 + 6);
  t.true(known.isExact);
  t.is((await count('gpt-3.5-turbo', 'hello world')).tokens, 2 + 6);
  const unknown = await count('llama3.2', 'hello world');
  t.is(unknown.tokens, 3);
  t.false(unknown.isExact);
  t.deepEqual(outputTokensOf({ max_completion_tokens: 7 }), { tokens: 7, isBounded: true });
  t.deepEqual(outputTokensOf({}), { tokens: 1_024, isBounded: false });
});

test('a sheet groups failures with the command that retries them, and says why a run is paused', (t) => {
  const { io } = fakeIo({ columns: 100, env: { NO_COLOR: '1' } });
  const failure = {
    class: 'server_error',
    code: 'http_500',
    message: 'it\nbroke',
    count: 12,
    job_id: 'j',
  } as const;
  const paused = {
    reason: 'max_cost',
    detail: 'It has spent $5.00.',
    at: '2026-11-21T09:05:00.000Z',
  } as const;
  const run = wireRun({
    status: 'paused',
    failures: [failure],
    paused,
    max_cost_usd: 5,
    unknown_cost_attempts: 2,
  });
  const sheet = runSheet(run, io.out, now).join('\n');
  t.regex(
    sheet,
    /12 × server_error \(http_500\): it broke\n {4}svc runs retry review-nov --class server_error/,
  );
  t.regex(sheet, /is paused: It has spent \$5\.00\.\n {2}svc runs resume review-nov --max-cost <USD>/);
  t.regex(sheet, /≥\$0, 2 attempts of unknown cost/);
  for (const line of runTable([run], io.out, now)) t.true(line.length <= 100);
});
