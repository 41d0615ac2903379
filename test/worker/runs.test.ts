import test from 'ava';
import { frameBytesMax, outputBytesMax } from '../../src/domain/workerProtocol.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { answer, job, setup, usage } from './support/setup.ts';

test('assignments run at once, as many as were given', async (t) => {
  const { coordinator, worker, provider } = await setup(t, { concurrency: 3 });
  await worker.start();
  const session = await coordinator.session({ concurrency: 3 });
  session.assign(job('a'), job('b'));
  session.assign(job('c'));
  const runs = [await provider.next(), await provider.next(), await provider.next()];
  t.is(worker.running, 3);
  for (const run of runs.toReversed()) run.end(answer(`done ${run.assignment.job_id}`));
  const outputs = [
    await session.take('complete'),
    await session.take('complete'),
    await session.take('complete'),
  ];
  t.deepEqual(
    outputs.map(({ job_id, result }) => `${job_id} ${result.output}`),
    ['c done c', 'b done b', 'a done a'],
  );
  t.is(worker.running, 0);
});

test('more assignments than slots still run, and are logged', async (t) => {
  const { coordinator, worker, provider, notices } = await setup(t);
  await worker.start();
  const session = await coordinator.session({ concurrency: 1 });
  session.assign(job('a'), job('b'));
  await provider.next();
  await provider.next();
  t.regex(notices.join(), /more than its 1 slots/);
});

test('a lease that is assigned twice runs once', async (t) => {
  const { coordinator, worker, provider, notices } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  session.assign(job('a'));
  await session.settled();
  t.is(provider.runs.length, 1);
  t.regex(notices.join(), /assigned twice/);
});

test('complete carries the output, the usage and the times measured here', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a', { lease: 4 }));
  const run = await provider.next();
  clock.advance(20);
  run.context.onText('he');
  clock.advance(10);
  run.end(answer('hello'));
  t.deepEqual(await session.take('complete'), {
    type: 'complete',
    job_id: 'a',
    lease: 4,
    result: { output: 'hello', finish_reason: 'stop', model: 'm', usage, latency_ms: 30, first_token_ms: 20 },
  });
});

test('a failure is passed on with its class, status, wait and usage', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const error = { class: 'rate_limited', message: 'slow down', status: 429, retry_after_seconds: 7 } as const;
  (await provider.next()).end({ ok: false, error, usage });
  t.deepEqual(await session.take('fail'), { type: 'fail', job_id: 'a', lease: 1, error, usage });
});

test('a provider that throws, rejects or answers nonsense fails its job and nothing else', async (t) => {
  const broken = {
    name: 'broken',
    kind: 'cloud',
    models: async () => null,
    probe: async () => null,
  } as const;
  const runs: Record<string, () => Promise<unknown>> = {
    throws: () => {
      throw new Error('at once');
    },
    rejects: () => Promise.reject(new Error('later')),
    nothing: () => Promise.resolve(undefined),
    nonsense: () => Promise.resolve({ ok: true }),
  };
  const { coordinator, worker } = await setup(t, {
    providers: [
      { ...broken, run: (assignment) => (runs[assignment.job_id]?.() ?? Promise.resolve()) as never },
    ],
  });
  await worker.start();
  const session = await coordinator.session({ concurrency: 9 });
  session.assign(...Object.keys(runs).map((name) => job(name, { provider: 'broken' })));
  const failed = new Map<string, string>();
  for (const _ of Object.keys(runs)) {
    const { job_id, error } = await session.take('fail');
    t.is(error.class, 'unknown');
    failed.set(job_id, error.message);
  }
  t.is(failed.get('throws'), 'at once');
  t.is(failed.get('rejects'), 'later');
  t.is(failed.size, 4);
  t.is(worker.running, 0);
});

test('numbers and words that the protocol does not know are left out, for such a frame would never be acknowledged', async (t) => {
  const { coordinator, worker, provider } = await setup(t, { concurrency: 3 });
  await worker.start();
  const session = await coordinator.session({ concurrency: 3 });
  session.assign(job('a'), job('b'), job('c'));
  const odd = { input_tokens: Number.NaN, output_tokens: 2, total_tokens: 1.5, reasoning_tokens: -1 };
  (await provider.next()).end({
    ok: true,
    result: { output: 'x', finish_reason: 'stop', model: 'm', usage: odd },
  });
  t.deepEqual((await session.take('complete')).result.usage, { output_tokens: 2 });
  const error = {
    class: 'bad luck' as 'unknown',
    message: 'm'.repeat(9999),
    status: 4.5,
    retry_after_seconds: -1,
  };
  (await provider.next()).end({ ok: false, error, usage: { input_tokens: Number.NaN } });
  const failed = await session.take('fail');
  t.deepEqual(failed.error, { class: 'unknown', message: 'm'.repeat(2000) });
  t.is(failed.usage, undefined);
  (await provider.next()).end({
    ok: true,
    result: { output: 5 as never, finish_reason: 'stop', model: 'm', usage },
  });
  t.is((await session.take('fail')).error.class, 'unknown');
});

test('a provider that this worker does not have fails the job, so that routing goes on', async (t) => {
  const { coordinator, worker } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a', { provider: 'toString' }));
  const { error } = await session.take('fail');
  t.is(error.class, 'unknown');
  t.is(error.code, 'provider_not_served');
});

test('abort stops the run and is answered with the usage so far', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a', { lease: 2 }));
  const run = await provider.next();
  session.abort({ job_id: 'a', lease: 2 });
  t.deepEqual(await session.take('aborted'), { type: 'aborted', job_id: 'a', lease: 2, usage });
  t.true(run.context.signal.aborted);
  run.context.onText('too late');
  t.is(worker.running, 0);
});

test('an abort of another lease, or of a run that is over, changes nothing', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a', { lease: 2 }));
  const run = await provider.next();
  session.abort({ job_id: 'a', lease: 1 });
  await session.settled();
  t.false(run.context.signal.aborted);
  run.end(answer('x'));
  await session.take('complete');
  session.abort({ job_id: 'a', lease: 2 });
  await session.settled();
  t.deepEqual(
    session.frames.map(({ type }) => type),
    ['hello', 'complete'],
  );
});

test('a whole answer that came in the moment of the abort is delivered: it is paid for', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  provider.isStubborn = true;
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const run = await provider.next();
  run.context.signal.addEventListener('abort', () => run.end(answer('just in time')));
  session.abort({ job_id: 'a', lease: 1 });
  t.is((await session.take('complete')).result.output, 'just in time');
});

test('an adapter that does not end when it is stopped loses its word after five seconds', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider, notices } = await setup(t, { clock });
  provider.isStubborn = true;
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const run = await provider.next();
  session.abort({ job_id: 'a', lease: 1 });
  await session.settled();
  clock.advance(7000);
  t.deepEqual(await session.take('aborted'), { type: 'aborted', job_id: 'a', lease: 1 });
  t.regex(notices.join(), /held did not end within five seconds/);
  run.end(answer('far too late'));
  await session.settled();
  t.is(session.of('complete').length, 0);
});

test("the worker's own deadline comes five seconds after the timeout", async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a', { timeout_seconds: 2 }), job('b'));
  const run = await provider.next();
  clock.advance(6999);
  t.false(run.context.signal.aborted);
  clock.advance(1001);
  const { error, usage: used } = await session.take('fail');
  t.is(error.class, 'timeout');
  t.is(error.code, 'job_timeout');
  t.deepEqual(used, usage);
  t.is(worker.running, 1);
});

test('streamed output is gathered into at most twenty chunks a second, numbered from 1', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'), job('b'));
  const run = await provider.next();
  const other = await provider.next();
  other.context.onText('other');
  for (let i = 0; i < 1000; i++) {
    run.context.onText(`${i} `);
    clock.advance(1);
  }
  clock.advance(50);
  await session.settled();
  const chunks = session.of('chunk').filter(({ job_id }) => job_id === 'a');
  t.true(chunks.length <= 21 && chunks.length >= 20, `${chunks.length} chunks`);
  t.deepEqual(
    chunks.map(({ seq }) => seq),
    chunks.map((_, index) => index + 1),
  );
  t.is(chunks.map(({ text }) => text).join(''), Array.from({ length: 1000 }, (_, i) => `${i} `).join(''));
  t.deepEqual(
    session.of('chunk').filter(({ job_id }) => job_id === 'b'),
    [{ type: 'chunk', job_id: 'b', lease: 1, seq: 1, text: 'other' }],
  );
  clock.advance(1000);
  await session.settled();
  t.is(session.of('chunk').length, chunks.length + 1, 'nothing is sent when nothing is said');
});

test('the first piece of a job does not wait for the interval of the others', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'), job('b'));
  const [run, other] = [await provider.next(), await provider.next()];
  const texts = async (): Promise<string[]> => {
    await session.settled();
    return session.of('chunk').map(({ job_id, text }) => `${job_id}: ${text}`);
  };
  run.context.onText('The');
  clock.advance(5);
  t.deepEqual(await texts(), ['a: The']);
  run.context.onText(' sky');
  clock.advance(20);
  other.context.onText('No');
  clock.advance(5);
  t.deepEqual(await texts(), ['a: The', 'b: No']);
  clock.advance(20);
  t.deepEqual(await texts(), ['a: The', 'b: No', 'a:  sky']);
});

test('a job whose output is ready at once sends no chunk', async (t) => {
  const { coordinator, worker } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a', { provider: 'echo', input: 'One. Two.' }));
  const { result } = await session.take('complete');
  t.regex(result.output, /echo/);
  t.deepEqual(
    session.frames.map(({ type }) => type),
    ['hello', 'complete'],
  );
});

test('a stream ends with its whole text: what is left is sent before the outcome', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'), job('b'));
  const [run, late] = [await provider.next(), await provider.next()];
  run.context.onText('The sky');
  clock.advance(50);
  run.context.onText(' is blue.');
  run.end(answer('The sky is blue.'));
  // It says all of it at once, long after it was begun.
  clock.advance(10);
  late.context.onText('No.');
  late.end({ ok: false, error: { class: 'server_error', message: 'broke off' } });
  await session.take('complete');
  await session.take('fail');
  t.deepEqual(
    session.frames.flatMap((frame) => ('text' in frame ? [frame.text] : [frame.type])),
    ['hello', 'The sky', ' is blue.', 'complete', 'No.', 'fail'],
  );
  t.true(session.of('fail')[0]?.begun, 'it may be charged for');
});

test('a result larger than an output or a frame may be fails its job and keeps the connection', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'), job('b'), job('c'), job('d'));
  (await provider.next()).end(answer('x'.repeat(outputBytesMax + 1)));
  // Fewer characters than the limit, more bytes.
  (await provider.next()).end(answer('€'.repeat(outputBytesMax / 2)));
  // No larger than an output may be, but six bytes for each of them in a frame.
  (await provider.next()).end(answer('\u0001'.repeat(frameBytesMax / 6)));
  (await provider.next()).end(answer('y'.repeat(outputBytesMax)));
  for (let refused = 0; refused < 3; refused += 1) {
    const { error, usage: used } = await session.take('fail');
    t.is(error.class, 'invalid_request');
    t.is(error.code, 'result_too_large');
    t.deepEqual(used, usage);
  }
  t.is((await session.take('complete')).job_id, 'd');
  t.true(worker.isConnected);
});
