import test from 'ava';
import { ApiError, createClient, Unreachable, WaitTimedOut } from '../../src/client/client.ts';
import { type Running, startLongJob } from '../support/process.ts';
import { completedJob, deadUrl, jobId, problem, serve, streamOf, wireJob } from './server.ts';

const apiKey = '0123456789abcdef';

test('a job is followed with its output as it comes, over a kill of the coordinator', async (t) => {
  const { id, ...first } = await startLongJob(t);
  const states: string[] = [];
  let heard = 0;
  let heardAfter = 0;
  let again: Running | null = null;
  const job = await first.client.follow(id, {
    timeoutSeconds: 120,
    onUpdate: ({ status }) => states.push(status),
    onOutput: async ({ text }) => {
      heard += text.length;
      if (again !== null) {
        heardAfter += text.length;
        await again.client.cancel(id).catch(() => {});
      } else if (heard === text.length) {
        await first.process.kill();
        again = await first.again();
      }
    },
  });
  t.is(job.status, 'cancelled');
  t.true(heardAfter > 0, 'the output goes on after the restart');
  t.true(states.includes('running'));
  t.is(states.at(-1), 'cancelled');
});

test('a stream that breaks off is taken up after the last event', async (t) => {
  const done = completedJob('done');
  const running = wireJob({ status: 'running' });
  let isOver = false;
  const { url, seen } = await serve(t, ({ path, headers }) => {
    if (!path.endsWith('/events')) return { json: isOver ? done : running };
    isOver = headers['last-event-id'] !== undefined;
    return isOver ? streamOf([running, done]) : streamOf([wireJob(), running], true);
  });
  const states: string[] = [];
  const job = await createClient({ baseUrl: url, apiKey }).follow(jobId, {
    onUpdate: ({ status }) => states.push(status),
  });
  t.is(job.result?.output, 'done');
  t.deepEqual(states, ['pending', 'running', 'running', 'completed']);
  const streams = seen.filter(({ path }) => path.endsWith('/events'));
  t.deepEqual(
    streams.map(({ headers }) => headers['last-event-id']),
    [undefined, '3'],
  );
});

test('a job whose end was missed while nobody listened is asked for', async (t) => {
  const { url } = await serve(t, ({ path }) =>
    path.endsWith('/events')
      ? problem(429, 'rate_limited', 'Too many subscribers')
      : { json: completedJob('done') },
  );
  t.is((await createClient({ baseUrl: url, apiKey }).follow(jobId)).result?.output, 'done');
});

test('a time that is longer than any timer takes is a long one', async (t) => {
  const running = wireJob({ status: 'running' });
  const { url, seen } = await serve(t, ({ path, headers }) => {
    if (!path.endsWith('/events')) return { json: isOver() ? completedJob('done') : running };
    return headers['last-event-id'] === undefined
      ? streamOf([running], true)
      : streamOf([completedJob('done')]);
  });
  const isOver = () => seen.some(({ headers }) => headers['last-event-id'] !== undefined);
  const job = await createClient({ baseUrl: url, apiKey }).follow(jobId, { timeoutSeconds: 1e9 });
  t.is(job.result?.output, 'done');
});

test('following ends with the time, with the signal, and at once where there is nothing to follow', async (t) => {
  const { url } = await serve(t, ({ path }) =>
    path.endsWith('/events') ? (response) => response.writeHead(200).flushHeaders() : { json: wireJob() },
  );
  const client = createClient({ baseUrl: url, apiKey });
  await t.throwsAsync(client.follow(jobId, { timeoutSeconds: 0.1 }), { instanceOf: WaitTimedOut });
  const stopped = AbortSignal.abort(new Error('enough'));
  await t.throwsAsync(client.follow(jobId, { signal: stopped }), { message: 'enough' });
  const nobody = createClient({ baseUrl: await deadUrl(), apiKey });
  await t.throwsAsync(nobody.follow(jobId), { instanceOf: Unreachable });
  const unknown = await serve(t, () => problem(404, 'job_not_found', 'There is no such job'));
  await t.throwsAsync(createClient({ baseUrl: unknown.url, apiKey }).follow(jobId), { instanceOf: ApiError });
});
