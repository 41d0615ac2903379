import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { WireRun } from '../../src/domain/wire/run.ts';
import { type Answer, FakeServer } from '../fixtures/providers/server.ts';
import { isThorough } from '../support/depth.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type SvcProcess, startCoordinator, startSvc, until, within } from '../support/process.ts';

/*
 * A day of a heavy user: a file with ids of its own and a budget, through a server that limits, fails and hangs, over
 * kills of the command and of the coordinator. At the end every line has one answer, and the cost is what the server
 * counted.
 */

const lines = isThorough ? 5_000 : 400;
const tokens = { prompt_tokens: 600, completion_tokens: 400 };
/** A dollar for a million tokens, in and out: 0.001 dollars an answer. */
const perAnswer = 0.001;
/** The worker's: so many attempts at most are under way when the coordinator is killed, or were on their way to the worker. */
const slots = 50;

/** The same fate for a row whenever it is asked for, and another one at each attempt: 0 to 999. */
function fateOf(row: string, attempt: number): number {
  return createHash('sha256').update(`${row} ${attempt}`).digest().readUInt16BE(0) % 1_000;
}

/** Whether a row is refused until the server is repaired. */
const isBad = (row: string): boolean => fateOf(row, 0) < 30;

/** A server of OpenAI's protocol. */
class Model {
  readonly attempts = new Map<string, number>();
  answered = 0;
  /** Requests whose client went before the answer: those that hang, and on a busy machine some that were only slow. */
  abandoned = 0;
  isRepaired = false;

  readonly answer: Answer = ({ asked, response }) => {
    const { messages } = asked.body as { messages: { content: string }[] };
    const row = /row-\d+/.exec(messages.at(-1)?.content ?? '')?.[0] ?? 'none';
    const attempt = (this.attempts.get(row) ?? 0) + 1;
    this.attempts.set(row, attempt);
    const fate = fateOf(row, attempt);
    response.once('close', () => {
      if (!response.writableEnded) this.abandoned += 1;
    });
    const refuse = (status: number, message: string, headers = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ error: { message, type: 'x', code: null } }));
    };
    if (isBad(row) && !this.isRepaired) return refuse(400, 'this row is bad');
    if (attempt < 3 && fate < 5) return refuse(429, 'slow down', { 'retry-after': '0' });
    if (attempt < 3 && fate < 25) return refuse(500, 'it broke');
    // It hangs: the worker gives up, and tries again.
    if (attempt < 2 && fate < 28) return;
    this.answered += 1;
    const chunk = (choices: object[], usage?: object): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, usage })}\n\n`;
    const delta = (content: string, end: string | null) => [
      { index: 0, delta: { role: 'assistant', content }, finish_reason: end },
    ];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk(delta(`answer to ${row}, "quoted"`, null)));
    response.end(
      `${chunk(delta('', 'stop'))}${chunk([], { ...tokens, total_tokens: 1_000 })}data: [DONE]\n\n`,
    );
  };
}

test('a heavy day: each line exactly once, a budget, kills, only failures again, and the cost that the server counted', async (t) => {
  t.timeout(600_000);
  const model = new Model();
  const server = await FakeServer.listen(model.answer);
  t.teardown(() => server.close());
  const price = { input_per_million: 1, output_per_million: 1 };
  const limit = { retry_after_seconds: 1, max_retries: 1_000 };
  const breaker = { ratio: 1, minimum: 1_000 };
  let coordinator = await startCoordinator(t, {
    config: {
      pricing: { vllm: { m: price } },
      providers: { vllm: { rate_limit: limit, breaker } },
      jobs: { max_attempts: 5 },
    },
  });
  const worker = ['worker', '--provider', 'vllm', '--name', 'box', '--concurrency', String(slots)];
  // What hangs is given up after this; what only is slow, on a busy machine, must not be.
  const timeouts = { first_token_seconds: 12, connect_seconds: 12 };
  const vllm = { base_url: `${server.url}/v1`, model: 'm', models: ['m'], timeouts };
  startSvc(t, [...worker, '--coordinator', coordinator.url], { config: { providers: { vllm } } });

  const folder = temporaryFolder(t);
  const [input, output] = [join(folder, 'rows.csv'), join(folder, 'answers.csv')];
  const rows = Array.from({ length: lines }, (_, n) => `id-${n},"about row-${n}, please",${n % 7}`);
  writeFileSync(input, `id,text,shelf\n${rows.join('\n')}\n`);
  const file = ['run', '--file', input, '--run', 'day', '--id-column', 'id', '--output', output];
  const asking = ['--template', 'Tell me {{text}}', '--provider', 'vllm', '--model', 'm'];
  const start = (...more: string[]): SvcProcess =>
    startSvc(t, [...file, ...asking, '--url', coordinator.url, ...more]);
  /** null while nobody answers. */
  const run = (): Promise<WireRun | null> => coordinator.client.run('day').catch(() => null);
  const ended = async () => {
    const { completed, failed } = (await run())?.counts ?? { completed: 0, failed: 0 };
    return completed + failed;
  };
  const untilEnded = (share: number) =>
    until('a part has ended', async () => (await ended()) >= lines * share, 300_000);

  // The command is killed, another is interrupted, and the coordinator is killed under a third.
  const budget = lines * perAnswer * 0.6;
  const first = start('--max-cost', String(budget));
  await untilEnded(0.1);
  await first.kill();
  const second = start('--max-cost', String(budget));
  await untilEnded(0.2);
  second.signal('SIGINT');
  const interrupted = await within('it ends', second.exited, 30_000);
  t.not(interrupted.code, 0);
  const third = start('--max-cost', String(budget));
  await untilEnded(0.35);
  await coordinator.process.kill();
  coordinator = await coordinator.again();

  // The budget is reached: the run pauses, and the command says so.
  const paused = await until(
    'it pauses',
    async () => ((await run())?.status === 'paused' ? run() : null),
    300_000,
  );
  t.is(paused.paused?.reason, 'max_cost');
  t.not((await within('it ends', third.exited, 60_000)).code, 0);
  t.regex(third.err, /max[_-]cost/);
  const settled = await until('the last of them end', async () => {
    const now = await run();
    return now?.counts.running === 0 ? now : null;
  });
  t.true(settled.cost_usd <= budget, `${settled.cost_usd} of ${budget}`);
  // What the kill has left unknown counts towards the budget with what it may have cost.
  t.true(settled.unknown_cost_attempts <= model.abandoned + slots, String(settled.unknown_cost_attempts));
  const spent = settled.cost_usd + settled.unknown_cost_attempts * perAnswer;
  t.true(spent >= budget * 0.9, `${spent} of ${budget}`);

  // With more money it goes on to the end; some rows fail for good.
  const fourth = start('--max-cost', String(lines));
  t.is((await within('it ends', fourth.exited, 400_000)).code, 1, fourth.said());
  const bad = rows.filter((_, n) => isBad(`row-${n}`)).length;
  const whole = await coordinator.client.run('day');
  t.is(whole.status, 'completed');
  t.is(whole.counts.completed + whole.counts.failed, lines);
  // With one worker nobody else can try what hung.
  const failures = new Map(whole.failures.map((group) => [group.class, group.count]));
  t.is(failures.get('invalid_request'), bad);
  t.is(bad + (failures.get('timeout') ?? 0), whole.counts.failed);

  // Only they are sent again.
  model.isRepaired = true;
  const asked = server.asked.length;
  const retry = startSvc(t, ['runs', 'retry', 'day', '--url', coordinator.url]);
  t.is((await within('it ends', retry.exited, 60_000)).code, 0, retry.said());
  const last = start();
  t.is((await within('it ends', last.exited, 120_000)).code, 0, last.said());
  t.true(server.asked.length - asked < whole.counts.failed * 3 + 10);

  const [head, ...answers] = readFileSync(output, 'utf8').trim().split('\r\n');
  const columns = head?.split(',') ?? [];
  t.deepEqual(columns.slice(0, 3), ['id', 'text', 'shelf']);
  t.is(answers.length, lines);
  for (const [n, line] of answers.entries()) {
    if (
      !line.startsWith(`id-${n},"about row-${n}, please",${n % 7},completed,"answer to row-${n}, ""quoted"""`)
    )
      t.fail(line);
  }
  const final = await coordinator.client.run('day');
  t.is((await coordinator.client.jobs({ limit: 1 })).total, lines);
  // What was given up may have been charged for, and what the kill has cut off, and nobody knows.
  t.true(
    final.unknown_cost_attempts <= model.abandoned + slots,
    `${final.unknown_cost_attempts} of ${model.abandoned}`,
  );
  t.is(Math.round(final.cost_usd * 1e6), Math.round(model.answered * perAnswer * 1e6));
});
