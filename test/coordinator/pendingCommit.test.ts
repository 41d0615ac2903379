import test, { type ExecutionContext } from 'ava';
import { Coordinator } from '../../src/coordinator/coordinator.ts';
import { createPricing } from '../../src/cost/pricing.ts';
import { silent } from '../../src/lib/log.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { SchemaChecks } from '../../src/lib/schemaChecks.ts';
import { FolderBlobs } from '../../src/store/json/blobs.ts';
import { nodeFiles } from '../../src/store/json/files.ts';
import { MemoryStore } from '../../src/store/memory/memoryStore.ts';
import { headStart } from '../store/jobs.ts';
import { type HeldGroup, LogPlace, MemoryLog } from '../store/memoryLog.ts';
import { testConfig } from '../support/config.ts';
import { HandWorker, request } from '../support/coordinator.ts';
import { FakeClock, seededRandom } from '../support/fakeClock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { HandSender } from '../support/handSender.ts';

/** A coordinator with one worker, over a log whose appends may be pending. */
async function setup(
  t: ExecutionContext,
): Promise<{ coordinator: Coordinator; worker: HandWorker; log: MemoryLog }> {
  const config = testConfig({});
  const clock = new FakeClock();
  const log = new MemoryLog(new LogPlace());
  const coordinator = new Coordinator({
    config: () => config,
    store: new MemoryStore(log, { clock, headStart, auditKeptMs: () => 86_400_000 }),
    blobs: new FolderBlobs({ files: nodeFiles, folder: temporaryFolder(t), logger: silent }),
    clock,
    random: seededRandom(),
    logger: silent,
    pricing: createPricing(() => config, clock),
    webhookSender: new HandSender(),
    checks: new SchemaChecks(),
    inspects: false,
  });
  await coordinator.start();
  t.teardown(() => {
    log.outcome = 'done';
    return coordinator.close();
  });
  const worker = new HandWorker(coordinator);
  const about = { name: 'w', kind: 'cloud', version: null, host: null, instance: null } as const;
  await worker.connection.hello({ ...about, providers: ['echo'], models: {}, tags: [], concurrency: 1 }, []);
  await someTurns();
  return { coordinator, worker, log };
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await nextTurn();
}

async function held(log: MemoryLog, count = 1): Promise<HeldGroup> {
  while (log.held.length < count) await nextTurn();
  log.outcome = 'done';
  return log.held[count - 1] as HeldGroup;
}

test('a client is answered, and a worker gets the job, when its commit is known to be durable', async (t) => {
  const { coordinator, worker, log } = await setup(t);
  log.outcome = 'pending';
  let isAnswered = false;
  const dispatch = coordinator.dispatch(request()).finally(() => {
    isAnswered = true;
  });
  const group = await held(log);
  await someTurns();
  t.false(isAnswered);
  t.deepEqual(worker.jobs, []);
  group.keep();
  const { job } = await dispatch;
  t.is((await worker.job()).job_id, job.id);
});

test('a job whose commit turns out to be refused has taken no slot, and reaches no worker', async (t) => {
  const { coordinator, worker, log } = await setup(t);
  log.outcome = 'pending';
  const refused = t.throwsAsync(coordinator.dispatch(request()), { name: 'StoreUnavailable' });
  (await held(log)).refuse();
  await refused;
  t.is((await coordinator.stats()).slots.taken, 0);
  const { job } = await coordinator.dispatch(request());
  t.is((await worker.job()).job_id, job.id);
  t.is(worker.jobs.length, 1);
});

test('a result is acknowledged when its commit is known to be durable', async (t) => {
  const { coordinator, worker, log } = await setup(t);
  const { job } = await coordinator.dispatch(request());
  const assigned = await worker.job();
  log.outcome = 'pending';
  const told = worker.complete(assigned);
  const group = await held(log);
  await someTurns();
  t.is(worker.ack, undefined);
  t.is((await coordinator.job(job.id)).job.state, 'running.active');
  group.keep();
  await told;
  t.like(worker.ack, { type: 'ack', accepted: true });
  t.is((await coordinator.job(job.id)).job.state, 'completed');
});

test('requests with one key that come while its commit is pending make one job', async (t) => {
  const { coordinator, log } = await setup(t);
  log.outcome = 'pending';
  const answers = [1, 2, 3].map(() => coordinator.dispatchOnce('client k', request()));
  (await held(log)).keep();
  const ids = (await Promise.all(answers)).map(({ view }) => view.job.id);
  t.is(new Set(ids).size, 1);
});

test('a coordinator that is closed while a commit is pending says that its outcome is not known', async (t) => {
  const { coordinator, log } = await setup(t);
  log.outcome = 'pending';
  const unknown = t.throwsAsync(coordinator.dispatch(request()), {
    name: 'OutcomeUnknown',
    message: /It is not known whether .*Check before you send them again/,
  });
  await held(log);
  await coordinator.close();
  await unknown;
});
