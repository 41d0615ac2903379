import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  freePort,
  type Running,
  type SvcProcess,
  spawnCoordinator,
  startCoordinator,
  startSvc,
  startWorker,
  until,
} from '../support/process.ts';
import { TcpProxy } from '../support/tcpProxy.ts';

/** Half a second of heartbeat; a minute until a silent lease is given to another. */
const jobs = { heartbeat_interval_seconds: 0.5, reap_stale_after_seconds: 60 };

interface Bundle {
  coordinator: Running;
  proxy: TcpProxy;
  worker: SvcProcess;
}

/** A coordinator and a worker process with a network of ours between them. */
async function setup(
  t: ExecutionContext,
  config: Record<string, number> = jobs,
  concurrency = 1,
): Promise<Bundle> {
  const coordinator = await startCoordinator(t, { config: { jobs: config } });
  const proxy = await TcpProxy.to(t, coordinator.port);
  const worker = startWorker(t, proxy, ['--name', 'far-away', '--concurrency', String(concurrency)]);
  await until(
    () => `it is connected: ${worker.said()}`,
    () => isConnected(coordinator),
  );
  return { coordinator, proxy, worker };
}

async function isConnected({ client }: Running): Promise<boolean> {
  const { workers } = await client.workers();
  return workers.some(({ name, connected }) => name === 'far-away' && connected);
}

/** Dispatch a job that takes `ms`. */
async function slowJob({ client }: Running, ms: number): Promise<string> {
  const params = { echo_delay_ms: ms, echo_output: 'done' };
  return (await client.dispatch({ prompt: 'Take your time', provider: 'echo', params })).id;
}

function jobWhen({ client }: Running, id: string, isReached: (job: WireJob) => boolean): Promise<WireJob> {
  let last: WireJob | null = null;
  return until(
    () => `job ${id} gets there; it is ${JSON.stringify(last)}`,
    async () => {
      last = await client.job(id);
      return isReached(last) ? last : null;
    },
  );
}

const isRunning = ({ status }: WireJob) => status === 'running';
const isCompleted = ({ status }: WireJob) => status === 'completed';

test.serial(
  'when the worker’s words vanish its job is stuck, and goes on once it has come back another way',
  async (t) => {
    const { coordinator, proxy } = await setup(t);
    const id = await slowJob(coordinator, 4_000);
    await jobWhen(coordinator, id, isRunning);
    proxy.swallow('up');
    // Else it may be back before anybody has looked.
    proxy.refuses = true;
    await jobWhen(coordinator, id, ({ stuck }) => stuck);
    proxy.refuses = false;
    const job = await jobWhen(coordinator, id, isCompleted);
    t.like(job, { attempt_count: 1, reap_count: 0, stuck: false });
    t.true(proxy.count >= 2, `${proxy.count} connections`);
  },
);

test.serial(
  'when the coordinator’s words vanish the worker connects anew, and its job goes on',
  async (t) => {
    const { coordinator, proxy, worker } = await setup(t);
    const id = await slowJob(coordinator, 4_000);
    await jobWhen(coordinator, id, isRunning);
    proxy.swallow('down');
    await worker.says(/the coordinator has been silent for three heartbeats/);
    const job = await jobWhen(coordinator, id, isCompleted);
    t.like(job, { attempt_count: 1, reap_count: 0 });
    t.true(proxy.count >= 2, `${proxy.count} connections`);
  },
);

test.serial(
  'a slow connection that is cut again and again loses no job and runs none twice that it had begun',
  async (t) => {
    const { coordinator, proxy } = await setup(t, jobs, 4);
    proxy.delayMs = 30;
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, i) => slowJob(coordinator, 50 + 10 * (i % 20))),
    );
    for (const goal of [8, 16, 24, 32]) {
      await until(`${goal} are done`, async () => {
        const { total } = await coordinator.client.jobs({ status: 'completed', limit: 1 });
        return total >= goal;
      });
      proxy.cut();
    }
    const ended = await Promise.all(ids.map((id) => jobWhen(coordinator, id, isCompleted)));
    t.is(proxy.count, 5);
    for (const job of ended) {
      t.is(job.attempts.filter(({ outcome }) => outcome === 'completed').length, 1);
      // An assignment that was cut off on its way has run nowhere: it is given back, or said to be lost, and cost nothing.
      const others = job.attempts.filter(({ outcome }) => outcome !== 'completed');
      t.true(
        others.every(
          ({ outcome, usage }) => usage === null && (outcome === 'lost' || outcome === 'released'),
        ),
      );
    }
  },
);

test.serial('a coordinator that stands still under load takes no lease from anybody for it', async (t) => {
  // It stands longer than a lease may be silent, two intervals, and the worker gives the connection up after three, counted
  // from the last frame before. So what is over of the third is all the time that a busy machine may be late by: with an
  // interval of 2 seconds the worker came back anew at times, and an assignment on its way to the old connection was lost.
  const { coordinator } = await setup(t, { heartbeat_interval_seconds: 4, reap_stale_after_seconds: 8 }, 4);
  const ids = await Promise.all(Array.from({ length: 12 }, () => slowJob(coordinator, 1_500)));
  await until('four run', async () => (await coordinator.client.jobs({ status: 'running' })).total === 4);
  coordinator.process.signal('SIGSTOP');
  await delay(8_500);
  coordinator.process.signal('SIGCONT');
  for (const id of ids) {
    const { attempts } = await jobWhen(coordinator, id, isCompleted);
    t.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ['completed'],
      coordinator.process.said(),
    );
  }
});

test('a port that is taken, or an address that is not here, is told with what to do', async (t) => {
  const first = await startCoordinator(t);
  const taken = spawnCoordinator(t, { folder: temporaryFolder(t), port: first.port });
  t.is((await taken.exited).code, 1);
  t.regex(
    taken.err,
    /^error: Port \d+ of 127\.0\.0\.1 is taken.*Choose another one with --port or SVC_PORT\.$/m,
  );
  const config = { host: '192.0.2.1' };
  const elsewhere = spawnCoordinator(t, { folder: temporaryFolder(t), port: await freePort(), config });
  t.is((await elsewhere.exited).code, 1);
  t.regex(elsewhere.err, /^error: This machine has no address 192\.0\.2\.1\./m);
});

test('an address that begins with https where nobody speaks TLS is told as that, and not as a coordinator that is away', async (t) => {
  const { port } = await startCoordinator(t);
  const url = `https://127.0.0.1:${port}`;
  const list = startSvc(t, ['jobs', 'list', '--url', url]);
  t.is((await list.exited).code, 3);
  const advice = 'it does not use TLS: should the address begin with http://';
  t.true(list.err.includes(advice) && !list.err.includes('svc coordinator'), list.said());
  const worker = startWorker(t, { url });
  await worker.says(
    /cannot be reached: it does not use TLS: should the address begin with http:\/\/ \(EPROTO\)/,
  );
});
