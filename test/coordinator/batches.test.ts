import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { BatchRun } from '../../src/coordinator/batches/index.ts';
import { type Doer, nobody } from '../../src/domain/audit.ts';
import { isFinal } from '../../src/domain/batch.ts';
import { CoordinatorError } from '../../src/domain/errors.ts';
import type { Principal } from '../../src/domain/key.ts';
import { runsMax } from '../../src/domain/run.ts';
import { openBatches } from '../../src/front/openai/index.ts';
import { type Bundle, request, setup } from '../support/coordinator.ts';
import { HandSender } from '../support/handSender.ts';
import { until } from '../support/process.ts';

const ann: Principal = { keyId: 'k1', name: 'ann', role: 'client', bounds: null, secretHash: '' };
const doer: Doer = { actor: ann, address: null };
const hourMs = 3_600_000;

const breaker = { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 };
const rateLimit = { maxConcurrent: null, retryAfterSeconds: 1, maxRetries: 3, retryAfterMaxSeconds: 300 };
const known = { rateLimit, baseUrl: null, apiKeyEnv: null, breaker, model: 'echo' };

/** With a provider that is known before a worker has come. */
async function setupOpen(
  t: ExecutionContext,
  overrides: Parameters<typeof setup>[1] = {},
  options: Parameters<typeof setup>[2] = {},
): Promise<Bundle> {
  return open(await setup(t, { providers: { echo: known }, ...overrides }, options));
}

function open(bundle: Bundle): Bundle {
  const { coordinator, config, clock } = bundle;
  openBatches({ coordinator, config: () => config, clock });
  return bundle;
}

async function restarted(bundle: Bundle): Promise<Bundle> {
  return open(await bundle.restart());
}

/** The wall clock comes to the end of the window, as it does on a machine that slept. */
function endWindow({ clock }: Bundle): void {
  clock.jump(2 * hourMs);
  clock.advance(3_000);
}

function lines(count: number): string {
  return Array.from({ length: count }, (_, place) => {
    const body = { model: 'echo', messages: [{ role: 'user', content: `Say ${place}` }] };
    return `${JSON.stringify({ custom_id: `l${place}`, method: 'POST', url: '/v1/chat/completions', body })}\n`;
  }).join('');
}

async function begin({ coordinator }: Bundle, text: string, by = ann): Promise<string> {
  const { files, batches } = coordinator;
  const draft = await files.begin({ name: 'a.jsonl', purpose: 'batch', expiresAt: null, createdBy: null });
  await draft.write(Buffer.from(text));
  const file = await files.add(await draft.finish());
  const run = await batches.create(
    {
      endpoint: '/v1/chat/completions',
      inputFileId: file.id,
      window: '1h',
      windowMs: hourMs,
      outputKeptMs: hourMs,
      metadata: {},
      limits: { maxCost: null, maxFailures: null },
      key: null,
    },
    by,
  );
  return run.id;
}

/** The batch once `isReached`; the clock goes on meanwhile, for what is tried again. */
async function when({ coordinator, clock }: Bundle, id: string, isReached: (run: BatchRun) => boolean) {
  const last = () => {
    const { batch, totals, state } = coordinator.batches.get(id);
    return `the batch stays ${batch.state}, its run ${state}, ${JSON.stringify(totals)}`;
  };
  return until(last, () => {
    const run = coordinator.batches.get(id);
    if (!isReached(run)) clock.advance(100);
    return isReached(run) ? run : null;
  });
}

const ended = ({ batch }: BatchRun): boolean => isFinal(batch.state);
const running = ({ totals }: BatchRun): boolean => totals.running > 0;

/** The ids of the lines in each of its files, with the codes of those that did not run. */
async function filesOf({ coordinator }: Bundle, { batch }: BatchRun) {
  const read = async (id: string | null | undefined): Promise<string[]> => {
    if (id === null || id === undefined) return [];
    const parts: Buffer[] = [];
    for await (const part of coordinator.files.read(id)) parts.push(part);
    const text = Buffer.concat(parts).toString();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
      .map(({ custom_id: lineId, error }) => (error === null ? lineId : `${lineId} ${error.code}`));
  };
  return {
    output: await read(batch.life.result?.outputFileId),
    errors: await read(batch.life.result?.errorFileId),
  };
}

test('at the end of its window what waits is cancelled, what runs may end, and the batch is expired', async (t) => {
  const bundle = await setupOpen(t);
  const hand = await bundle.worker({ concurrency: 2 });
  const id = await begin(bundle, lines(5));
  await hand.complete(await hand.job(1));
  await hand.job(3);
  endWindow(bundle);
  const expiring = await when(bundle, id, ({ totals }) => totals.pending === 0);
  t.like(expiring.batch, { state: 'expiring' });
  t.like(expiring.totals, { completed: 1, running: 2, cancelled: 2 });
  for (const job of hand.jobs.slice(1)) await hand.complete(job);
  const run = await when(bundle, id, ended);
  t.like(run.batch, { state: 'expired', life: { result: { completed: 3, failed: 0 } } });
  t.deepEqual(await filesOf(bundle, run), {
    output: ['l0', 'l1', 'l2'],
    errors: ['l3 batch_expired', 'l4 batch_expired'],
  });
  t.is(hand.jobs.length, 3);
});

test('a window that ended while no coordinator ran is over at the next start, also for lines that were no jobs yet', async (t) => {
  const bundle = await setupOpen(t, { jobs: { maxPending: 20 } });
  const id = await begin(bundle, lines(50));
  await when(bundle, id, ({ totals }) => totals.pending > 10);
  bundle.clock.jump(2 * hourMs);
  const again = await restarted(bundle);
  const run = await when(again, id, ended);
  t.is(run.batch.state, 'expired');
  const { output, errors } = await filesOf(again, run);
  t.deepEqual([output.length, errors.length, new Set(errors).size], [0, 50, 50]);
});

test('a wall clock that jumps over the end of the window ends it, and one that jumps back does not', async (t) => {
  const bundle = await setupOpen(t);
  const hand = await bundle.worker({ concurrency: 1 });
  const id = await begin(bundle, lines(3));
  await hand.job(1);
  bundle.clock.jump(-24 * hourMs);
  bundle.clock.advance(10_000);
  t.is((await when(bundle, id, running)).batch.state, 'in_progress');
  bundle.clock.jump(26 * hourMs);
  bundle.clock.advance(3_000);
  await when(bundle, id, ({ batch }) => batch.state === 'expiring');
  await hand.complete(hand.jobs[0] ?? (await hand.job(1)));
  t.like(await when(bundle, id, ended), { batch: { state: 'expired' } });
});

test('a batch goes on after a restart in each of its states, and comes to the same end', async (t) => {
  let bundle = await setupOpen(t);
  const id = await begin(bundle, lines(40));
  bundle = await restarted(bundle);
  await when(bundle, id, ({ totals }) => totals.pending === 40);
  bundle = await restarted(bundle);
  const hand = await bundle.worker({ concurrency: 40 });
  for (let count = 1; count <= 40; count += 1) await hand.complete(await hand.job(count));
  await when(bundle, id, ({ batch }) => batch.state !== 'in_progress');
  bundle = await restarted(bundle);
  const run = await when(bundle, id, ended);
  t.is(run.batch.state, 'completed');
  const { output, errors } = await filesOf(bundle, run);
  t.deepEqual([output.length, new Set(output).size, errors.length], [40, 40, 0]);
  t.is(run.state, 'completed');
  bundle = await restarted(bundle);
  t.deepEqual(bundle.coordinator.batches.get(id).batch, run.batch);
});

test('a batch goes on when lines may no longer be as long as some of its lines are', async (t) => {
  const bundle = await setupOpen(t);
  const id = await begin(bundle, lines(3));
  await when(bundle, id, ({ totals }) => totals.pending === 3);
  const again = await bundle.restart();
  Object.assign(again.config.http, { maxBodyBytes: 50 });
  open(again);
  const hand = await again.worker({ concurrency: 3 });
  for (const nth of [1, 2, 3]) await hand.complete(await hand.job(nth));
  const run = await when(again, id, ended);
  t.deepEqual(await filesOf(again, run), { output: ['l0', 'l1', 'l2'], errors: [] });
});

test('a batch whose input file is lost ends with what has run, and says why it has no files', async (t) => {
  const bundle = await setupOpen(t);
  const ids = [await begin(bundle, lines(3)), await begin(bundle, lines(3))];
  const runs = [];
  for (const id of ids) runs.push(await when(bundle, id, ({ totals }) => totals.pending === 3));
  for (const { batch } of runs) unlinkSync(join(bundle.folder, 'files', `${batch.request.inputFileId}.bin`));
  const again = await restarted(bundle);
  const [first = '', second = ''] = ids;
  await again.coordinator.batches.cancel(second, doer);
  const hand = await again.worker({ concurrency: 3 });
  for (const nth of [1, 2, 3]) await hand.complete(await hand.job(nth));
  const { batch } = await when(again, first, ended);
  t.like(batch, { state: 'completed', life: { result: { completed: 3, outputFileId: null } } });
  t.like(batch.life.faults, [{ line: null, code: 'file_not_found' }]);
  t.like((await when(again, second, ended)).batch, {
    state: 'cancelled',
    life: { result: { completed: 0 } },
  });
});

test('a batch that is cancelled while its file is read has no files', async (t) => {
  const bundle = await setupOpen(t);
  const id = await begin(bundle, lines(2_000));
  await bundle.coordinator.batches.cancel(id, doer);
  const run = await when(bundle, id, ended);
  t.like(run.batch, {
    state: 'cancelled',
    life: { lines: null, result: { outputFileId: null, errorFileId: null } },
  });
  t.is(run.state, 'cancelled');
  t.deepEqual((await bundle.coordinator.batches.cancel(id, nobody)).batch, run.batch);
});

test('a job that is retried while the files are written goes into them with what it came to', async (t) => {
  const bundle = await setupOpen(t, { jobs: { maxAttempts: 1 } });
  const { coordinator } = bundle;
  const hand = await bundle.worker({ concurrency: 1 });
  const id = await begin(bundle, lines(2));
  const job = await hand.job(1);
  await hand.connection.conclude(
    { jobId: job.job_id, lease: job.lease },
    {
      type: 'fail',
      failure: { class: 'invalid_request', message: 'Bad', status: 400, code: 'bad', retryAfterMs: null },
      usage: null,
    },
  );
  const last = await hand.job(2);
  const done = hand.complete(last);
  const retried = coordinator.retry(job.job_id);
  await Promise.all([done, retried]);
  const again = await hand.job(3);
  await hand.complete(again);
  const run = await when(bundle, id, ended);
  t.deepEqual(await filesOf(bundle, run), { output: ['l0', 'l1'], errors: [] });
});

test('jobs that have left for the archive are in the files of their batch', async (t) => {
  const bundle = await setupOpen(t, { retention: { keepDays: 30, keepJobs: 0, auditDays: 400 } });
  const hand = await bundle.worker({ concurrency: 1 });
  const id = await begin(bundle, lines(6));
  for (let count = 1; count <= 5; count += 1) await hand.complete(await hand.job(count));
  const last = await hand.job(6);
  await until('they have left', async () => {
    bundle.clock.advance(500);
    return (await bundle.store.countOfRun(id)) === 1;
  });
  await hand.complete(last);
  const run = await when(bundle, id, ended);
  t.deepEqual((await filesOf(bundle, run)).output, ['l0', 'l1', 'l2', 'l3', 'l4', 'l5']);
});

test('it is told when the first batch is begun and when the last one has ended', async (t) => {
  const told: boolean[] = [];
  const bundle = await setupOpen(t, {}, { onBatches: (areUnderWay) => told.push(areUnderWay) });
  const first = await begin(bundle, lines(2));
  const second = await begin(bundle, lines(2));
  t.deepEqual(told, [true]);
  await bundle.coordinator.batches.cancel(first, doer);
  await when(bundle, first, ended);
  t.deepEqual(told, [true]);
  await bundle.coordinator.batches.cancel(second, doer);
  await when(bundle, second, ended);
  await until('it is told', () => told.length === 2);
  t.deepEqual(told, [true, false]);
});

test('a run that is a batch takes no lines from elsewhere', async (t) => {
  const bundle = await setupOpen(t);
  const { coordinator } = bundle;
  const id = await begin(bundle, lines(1));
  const line = { lineId: 'x', planned: coordinator.plan(request()) };
  const refused = await t.throwsAsync(async () => coordinator.runs.add(id, [line], ann), {
    instanceOf: CoordinatorError,
  });
  t.is(refused?.code, 'run_conflict');
});

test('of too many runs a batch that has not ended is not forgotten', async (t) => {
  const bundle = await setupOpen(t);
  const { coordinator } = bundle;
  const id = await begin(bundle, lines(1), { ...ann, keyId: 'k2' });
  const limits = { maxCost: null, maxFailures: null, deadline: null };
  for (let count = 0; count < runsMax; count += 1)
    await coordinator.runs.create({ name: `r${count}`, limits, defaults: {} }, { ...ann, keyId: 'k2' });
  t.is(coordinator.runs.list([], 1, 0).total, runsMax);
  t.is(coordinator.batches.get(id).batch.state, 'in_progress');
});

test('webhooks are notified of each end that a batch may come to', async (t) => {
  const sender = new HandSender();
  const bundle = await setupOpen(t, {}, { webhookSender: sender });
  const { coordinator } = bundle;
  const webhook = { name: 'ops', url: 'https://hooks.example.com/', description: null, isEnabled: true };
  await coordinator.webhooks.create({ ...webhook, events: null, tags: null }, nobody);
  const hand = await bundle.worker({ concurrency: 4 });
  const ends = [
    ['batch.completed', async () => hand.complete(await hand.job(1))],
    ['batch.cancelled', (id: string) => coordinator.batches.cancel(id, doer)],
    ['batch.expired', () => endWindow(bundle)],
    ['batch.failed', () => {}],
  ] as const;
  for (const [place, [type, end]] of ends.entries()) {
    const isRefused = type === 'batch.failed';
    const id = await begin(bundle, isRefused ? 'nonsense' : lines(1));
    if (!isRefused) await when(bundle, id, running);
    await end(id);
    // What is cancelled, or is over its time, may come to its end at the worker.
    if (type === 'batch.expired') await hand.complete(await hand.job(place + 1));
    const run = await when(bundle, id, ended);
    t.is(`batch.${run.batch.state}`, type);
    const told = () => sender.sent.filter(({ event }) => event.type.startsWith('batch.'));
    await until(
      () => `${type} is sent`,
      () => told().length > place,
    );
    t.like(told()[place]?.event, { type, data: { id: `batch_${id.replaceAll('-', '')}`, run_id: id } });
  }
});
