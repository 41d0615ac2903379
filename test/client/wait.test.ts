import test from 'ava';
import { ApiError, createClient, Unreachable, WaitTimedOut } from '../../src/client/client.ts';
import { type Answer, completedJob, deadUrl, jobId, problem, serve, wireJob } from './server.ts';

const apiKey = '0123456789abcdef';

/** Answers one after the other; the last one again and again. */
function script(answers: Answer[]): () => Answer {
  return () => (answers.length > 1 ? answers.shift() : answers[0]) ?? { json: {} };
}

test('waiting asks for long answers and ends with the job', async (t) => {
  const { url, seen } = await serve(t, script([{ json: wireJob() }, { json: completedJob('done') }]));
  const job = await createClient({ baseUrl: url, apiKey }).waitFor(jobId);
  t.is(job.result?.output, 'done');
  t.deepEqual(
    seen.map(({ query }) => query.get('wait')),
    ['30', '30'],
  );
});

for (const status of ['failed', 'cancelled'] as const) {
  test(`a job that ends ${status} is an answer, not an error`, async (t) => {
    const { url } = await serve(t, () => ({ json: wireJob({ status }) }));
    t.is((await createClient({ baseUrl: url, apiKey }).waitFor(jobId)).status, status);
  });
}

test('after the time is over it throws, and never asks for more than is left', async (t) => {
  const { url, seen } = await serve(t, () => ({ json: wireJob() }));
  const waiting = createClient({ baseUrl: url, apiKey }).waitFor(jobId, { timeoutSeconds: 0.3 });
  const error = await t.throwsAsync(waiting, {
    instanceOf: WaitTimedOut,
    message: /had not ended after 0.3 s/,
  });
  t.is(error?.jobId, jobId);
  t.true(seen.every(({ query }) => query.get('wait') === null));
});

test('a time of 0 looks once', async (t) => {
  const { url, seen } = await serve(t, () => ({ json: wireJob() }));
  const waiting = createClient({ baseUrl: url, apiKey }).waitFor(jobId, { timeoutSeconds: 0 });
  await t.throwsAsync(waiting, { instanceOf: WaitTimedOut });
  t.is(seen.length, 1);
});

test('a restart in the middle does not end the wait', async (t) => {
  const cut: Answer = (response) => response.destroy();
  const answers = [
    { json: wireJob() },
    cut,
    problem(503, 'draining', 'Shutting down'),
    { json: completedJob() },
  ];
  const { url, seen } = await serve(t, script(answers));
  t.is((await createClient({ baseUrl: url, apiKey }).waitFor(jobId)).status, 'completed');
  t.is(seen.length, 4);
});

test('of a job that is known an outage is waited out from the first question on', async (t) => {
  const cut: Answer = (response) => response.destroy();
  const { url } = await serve(t, script([cut, { json: completedJob() }]));
  const client = createClient({ baseUrl: url, apiKey });
  t.is((await client.waitFor(jobId, { isKnown: true })).status, 'completed');
});

test('an asking limit is waited for', async (t) => {
  const limited: Answer = {
    status: 429,
    json: { code: 'rate_limited', detail: 'Slow' },
    headers: { 'retry-after': '0' },
  };
  const { url } = await serve(t, script([limited, { json: completedJob() }]));
  t.is((await createClient({ baseUrl: url, apiKey }).waitFor(jobId)).status, 'completed');
});

test('a coordinator that was never there, an unknown job and a refused key end the wait at once', async (t) => {
  const nobody = createClient({ baseUrl: await deadUrl(), apiKey });
  await t.throwsAsync(nobody.waitFor(jobId), { instanceOf: Unreachable });
  const { url } = await serve(t, () => problem(404, 'job_not_found', 'There is no such job'));
  await t.throwsAsync(createClient({ baseUrl: url, apiKey }).waitFor(jobId), { instanceOf: ApiError });
});

test('a signal ends the wait, also between two questions', async (t) => {
  const controller = new AbortController();
  const { url } = await serve(t, () => {
    // Heard after the answer: by then the next question is waited for.
    setImmediate(() => controller.abort(new Error('enough')));
    return { json: wireJob() };
  });
  const waiting = createClient({ baseUrl: url, apiKey }).waitFor(jobId, { signal: controller.signal });
  await t.throwsAsync(waiting, { message: 'enough' });
});
