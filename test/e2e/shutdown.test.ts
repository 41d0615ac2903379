import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { WireHealth } from '../../src/domain/wire/health.ts';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { answerTo, attempt, connections, problemOf } from '../support/e2eHttp.ts';
import { completeFrame, DurableWorker, WorkerSocket } from '../support/e2eWorker.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type Exit, type Running, SvcProcess, startCoordinator, until, within } from '../support/process.ts';
import { allJobs, contradictions, countOf, type Remembered } from './history.ts';

/** Nobody beats here, and nobody is missed. */
const unhurried = { heartbeat_interval_seconds: 60, reap_stale_after_seconds: 0 };
/** What a stop that waits for nobody may take, ms: nearly nothing, and much more on a machine with much else to do. */
const atOnceMs = 1_000;

/** The end of a process, and the ms until then. */
async function endOf(svc: SvcProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit & { ms: number }> {
  const begun = performance.now();
  svc.signal(signal);
  const exit = await within('the process ends', svc.exited);
  return { ...exit, ms: Math.round(performance.now() - begun) };
}

async function dispatch({ port }: Running, fields: object = {}) {
  const body = JSON.stringify({ prompt: 'Say hello', provider: 'echo', ...fields });
  return answerTo(port, { method: 'POST', path: '/api/jobs', body });
}

/** SIGTERM, and wait until the drain is under way. */
async function drain(coordinator: Running): Promise<void> {
  coordinator.process.signal('SIGTERM');
  await until('it drains', async () => {
    const answer = await answerTo(coordinator.port, { path: '/health' });
    return (answer.json as WireHealth).status === 'draining';
  });
}

/** A coordinator with a worker by hand, on which one job runs. */
async function withRunningJob(t: ExecutionContext, shutdown: object = {}) {
  const coordinator = await startCoordinator(t, { config: { jobs: unhurried, shutdown } });
  const worker = await WorkerSocket.join(t, coordinator.url);
  const job = (await dispatch(coordinator)).json as WireJob;
  const assigned = await worker.job();
  return { coordinator, worker, job, assigned };
}

test.serial('SIGTERM takes no new jobs, takes the results of running ones, and ends with 0', async (t) => {
  const { coordinator, worker, job, assigned } = await withRunningJob(t);
  await drain(coordinator);
  const refused = await dispatch(coordinator);
  t.is(refused.status, 503);
  t.is(problemOf(refused).code, 'draining');
  t.regex(String(refused.headers['retry-after']), /^[1-9]\d*$/);
  t.is((await answerTo(coordinator.port, { path: '/health?ready=1' })).status, 503);
  t.is((await coordinator.client.job(job.id)).status, 'running');
  worker.complete(assigned, 'just in time');
  t.like(await worker.frame('ack'), { job_id: job.id, accepted: true });
  t.is((await worker.ended).code, 1012);
  t.deepEqual(await coordinator.process.exited, { code: 0, signal: null });
  const again = await coordinator.again();
  t.is((await again.client.job(job.id)).result?.output, 'just in time');
  t.is((await again.client.jobs()).total, 1);
});

test.serial('a second SIGTERM during the grace ends at once, and not with 0', async (t) => {
  const { coordinator, job } = await withRunningJob(t);
  await drain(coordinator);
  t.is(coordinator.process.exit, null);
  const { code, ms } = await endOf(coordinator.process);
  t.is(code, 128 + 15);
  t.true(ms < atOnceMs, `${ms} ms`);
  const again = await coordinator.again();
  t.is((await again.client.job(job.id)).status, 'running');
});

test.serial(
  'what still runs when the grace is over stays running, and its worker delivers after the restart',
  async (t) => {
    const coordinator = await startCoordinator(t, {
      config: { jobs: { reap_stale_after_seconds: 60 }, shutdown: { grace_seconds: 0.3 } },
    });
    let deliver = () => {};
    const mayEnd = new Promise<void>((resolve) => {
      deliver = resolve;
    });
    const worker = new DurableWorker(t, {
      url: coordinator.url,
      name: 'patient',
      concurrency: 1,
      work: (job) => ({ after: mayEnd, frame: completeFrame(job, 'after the restart') }),
    });
    const { id } = (await dispatch(coordinator)).json as WireJob;
    await until('the job runs', () => worker.held === 1);
    const { code, ms } = await endOf(coordinator.process);
    t.is(code, 0);
    t.true(ms >= 300 && ms < 300 + atOnceMs, `${ms} ms`);
    t.is(worker.closes.at(-1)?.code, 1012);
    const again = await coordinator.again();
    await until('the worker is back', () => worker.welcomes.length === 2);
    t.like(await again.client.job(id), { status: 'running', attempt_count: 1 });
    deliver();
    const job = await again.client.waitFor(id, { timeoutSeconds: 20 });
    t.like(job, { status: 'completed', attempt_count: 1, reap_count: 0 });
    t.is(job.result?.output, 'after the restart');
    t.deepEqual(worker.faults, []);
  },
);

test.serial('a SIGTERM under load loses nothing that was acknowledged, and burns no attempt', async (t) => {
  const coordinator = await startCoordinator(t);
  const worker = new DurableWorker(t, {
    url: coordinator.url,
    name: 'busy',
    concurrency: 8,
    work: (job) => ({ after: 5, frame: completeFrame(job, `done ${job.job_id}`) }),
  });
  const agent = connections(16);
  t.teardown(() => agent.destroy());
  const asked = new Map<string, Remembered>();
  const surprises: string[] = [];
  let acknowledged = 0;
  let refused = 0;
  let stopping: ReturnType<typeof endOf> | null = null;
  const client = async (): Promise<void> => {
    for (;;) {
      const name = `job-${asked.size}`;
      const asking = {
        prompt: name,
        provider: 'echo',
        priority: 'normal',
        tags: [],
        params: {},
        metadata: { name },
      };
      const remembered: Remembered = { asking, dispatch: 'fail', job: null, cancel: null, retry: null };
      asked.set(name, remembered);
      const body = JSON.stringify(asking);
      const attempted = await attempt(coordinator.port, { method: 'POST', path: '/api/jobs', body, agent });
      if (attempted.kind === 'refused') return;
      if (attempted.kind === 'unknown') {
        remembered.dispatch = 'unknown';
      } else if (attempted.answer.status === 201) {
        acknowledged += 1;
        Object.assign(remembered, { dispatch: 'ok', job: attempted.answer.json });
      } else {
        refused += 1;
        const { status, text } = attempted.answer;
        if (status !== 503 || problemOf(attempted.answer).code !== 'draining') surprises.push(text);
      }
      if (acknowledged === 300) stopping ??= endOf(coordinator.process);
    }
  };
  await Promise.all(Array.from({ length: 16 }, client));
  const end = await (stopping ?? endOf(coordinator.process));
  t.is(end.code, 0);
  t.true(end.ms < 5 * atOnceMs, `${end.ms} ms`);
  t.deepEqual(surprises, []);
  t.log(`${acknowledged} acknowledged, ${refused} refused, stopped in ${end.ms} ms`);
  const again = await coordinator.again();
  await until('every job is completed', async () => {
    const left = (await countOf(again.port, 'pending')) + (await countOf(again.port, 'running'));
    return left + worker.held === 0;
  });
  const jobs = await allJobs(again.port);
  t.deepEqual(contradictions(jobs, asked, [worker]), []);
  t.deepEqual(worker.faults, []);
  t.deepEqual(
    jobs.filter(({ status, attempt_count }) => status !== 'completed' || attempt_count !== 1),
    [],
  );
});

test.serial('requests that wait for a job are answered when it stops, and do not hold it up', async (t) => {
  const coordinator = await startCoordinator(t);
  const { id } = (await dispatch(coordinator)).json as WireJob;
  const waiting = [1, 2, 3].map(() => attempt(coordinator.port, { path: `/api/jobs/${id}?wait=60` }));
  // They were sent before this one, over connections of their own; it is answered when they are heard.
  await answerTo(coordinator.port, { path: '/health' });
  const { code, ms } = await endOf(coordinator.process);
  t.is(code, 0);
  t.true(ms < atOnceMs, `${ms} ms`);
  for (const attempted of await Promise.all(waiting)) {
    t.like(attempted, { kind: 'answer', answer: { status: 200 } });
    t.like(attempted.kind === 'answer' ? attempted.answer.json : null, { id, status: 'pending' });
  }
});

test.serial('clients that keep connections open and send nothing do not hold up a stop', async (t) => {
  const coordinator = await startCoordinator(t);
  const agent = connections(8);
  t.teardown(() => agent.destroy());
  await Promise.all(
    Array.from({ length: 8 }, () => answerTo(coordinator.port, { path: '/api/workers', agent })),
  );
  const worker = await WorkerSocket.join(t, coordinator.url);
  const { code, ms } = await endOf(coordinator.process);
  t.is(code, 0);
  t.is((await worker.ended).code, 1012);
  t.log(`an idle stop took ${ms} ms`);
  t.true(ms < atOnceMs, `${ms} ms`);
});

test.serial('SIGINT stops it in the same way', async (t) => {
  const coordinator = await startCoordinator(t);
  // Its signals are heard from a moment after it says that it is ready.
  await answerTo(coordinator.port, { path: '/health' });
  t.is((await endOf(coordinator.process, 'SIGINT')).code, 0);
});

// Its lease ends without a change of the job.
test.serial('a cancelled job whose worker has let go of it does not hold up a stop', async (t) => {
  const { coordinator, worker, job, assigned } = await withRunningJob(t);
  await coordinator.client.cancel(job.id);
  await worker.frame('abort');
  await drain(coordinator);
  worker.send({ type: 'aborted', job_id: job.id, lease: assigned.lease });
  t.is((await within('the process ends', coordinator.process.exited, 3 * atOnceMs)).code, 0);
});

test.serial('a worker that does not answer the close does not hold up a stop', async (t) => {
  const coordinator = await startCoordinator(t);
  const worker = await WorkerSocket.join(t, coordinator.url);
  worker.deafen();
  const { code, ms } = await endOf(coordinator.process);
  t.is(code, 0);
  t.true(ms < 5_000, `${ms} ms`);
});

test.serial(
  'Ctrl-C with a running job says what it waits for, drains at once, and a second one ends it',
  async (t) => {
    const coordinator = await startCoordinator(t, {
      config: { jobs: unhurried },
      args: ['--with-echo-worker'],
    });
    const job = (await dispatch(coordinator, { params: { echo_delay_ms: 60_000 } })).json as WireJob;
    await until('it runs', async () => (await coordinator.client.job(job.id)).status === 'running');
    coordinator.process.signal('SIGINT');
    await coordinator.process.says(/waiting up to 30 s for 1 running job\. Ctrl-C again stops at once/);
    t.is(((await answerTo(coordinator.port, { path: '/health' })).json as WireHealth).status, 'draining');
    t.is((await dispatch(coordinator)).status, 503);
    await delay(600);
    const { code, ms } = await endOf(coordinator.process, 'SIGINT');
    t.is(code, 128 + 2);
    t.true(ms < atOnceMs, `${ms} ms`);
  },
);

test.serial('a start on a taken port leaves nothing behind, and the next one shows its key', async (t) => {
  const first = await startCoordinator(t);
  const folder = join(temporaryFolder(t), 'data');
  const args = ['coordinator', '--port', String(first.port), '--data-dir', folder];
  const refused = new SvcProcess(args, { cwd: temporaryFolder(t) });
  t.is((await refused.exited).code, 1);
  t.regex(refused.err, /Port \d+ of 127\.0\.0\.1 is taken/);
  t.false(existsSync(folder));
  const next = new SvcProcess([...args.slice(0, 2), '0', ...args.slice(3)], { cwd: temporaryFolder(t) });
  t.teardown(() => next.kill());
  await next.says(/Its admin key/);
});
