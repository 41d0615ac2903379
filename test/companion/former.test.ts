import test from 'ava';
import { adminKey, sharedCoordinator, startCoordinator, until } from '../support/process.ts';
import { emptyHome, lives, type RunningCompanion, startCompanion, writeSettings } from './companion.ts';

/** A way to stop a worker and to want it again while its job runs. */
interface Detour {
  name: string;
  take: (companion: RunningCompanion, write: (change: object) => void) => Promise<void>;
}

const isWorking = ({ worker }: { worker: { phase: string } }): boolean => worker.phase === 'working';

const detours: Detour[] = [
  {
    name: 'off-on',
    take: async (companion) => {
      await companion.act('worker', { mode: 'off' });
      await companion.until('it is off', ({ worker }) => worker.phase === 'off' && worker.finishing === 1);
      await companion.act('worker', { mode: 'on' });
    },
  },
  {
    name: 'off-paused-on',
    take: async (companion) => {
      await companion.act('worker', { mode: 'off' });
      await companion.act('worker', { mode: 'paused' });
      await companion.until('it is connected', isWorking);
      await companion.act('worker', { mode: 'on' });
    },
  },
  {
    name: 'renamed',
    take: async (companion) => {
      await companion.act('settings', { name: 'renamed-for-a-moment' });
      await companion.until('another works', isWorking);
      await companion.act('settings', { name: 'renamed' });
    },
  },
  {
    name: 'without-key',
    take: async (companion, write) => {
      write({ api_key: undefined });
      await companion.until('it needs a key', ({ worker }) => worker.phase === 'setup');
      write({});
    },
  },
  {
    name: 'without-provider',
    take: async (companion) => {
      await companion.act('settings', { providers: [] });
      await companion.until('it needs a provider', ({ worker }) => worker.phase === 'setup');
      await companion.act('settings', { providers: ['echo'] });
    },
  },
  {
    name: 'other-spelling',
    take: async (companion, write) => {
      write({ coordinator: `${coordinator().url}/` });
      await companion.until('it is read', ({ settings }) => settings.coordinator.endsWith('/'));
    },
  },
];

const rules = detours.map(({ name }) => ({ match: { tags: [name] }, provider: 'echo', worker: name }));
const coordinator = sharedCoordinator({ config: { routing: { rules } } });

const job = (tag: string, ms: number) => ({ prompt: 'p', tags: [tag], params: { echo_delay_ms: ms } });

for (const { name, take } of detours) {
  test(`a worker that is wanted again while its job runs continues: ${name}`, async (t) => {
    const { url, client } = coordinator();
    const home = emptyHome(t);
    const worker = { coordinator: url, api_key: adminKey, name, providers: ['echo'], concurrency: 2 };
    writeSettings(home, worker);
    const companion = await startCompanion(t, home);
    const { worker: before } = await companion.until('it works', isWorking);
    const { id } = await client.dispatch(job(name, companion.soonMs + 2_000));
    await companion.until('the job runs', (state) => state.worker.running === 1);

    await take(companion, (change) => writeSettings(home, { ...worker, ...change }));
    const { worker: now } = await companion.until(
      'it works again',
      (state) => isWorking(state) && state.worker.running === 1,
    );
    t.is(now.pid, before.pid, 'the process continues');
    const second = await client.dispatch(job(name, 0), { waitSeconds: 20 });
    t.is(second.status, 'completed', 'it takes new jobs');
    const first = await client.job(id, { waitSeconds: 20 });
    t.is(first.status, 'completed');
    t.is(first.attempts?.length, 1, 'it ran once');
    const { worker: after } = await companion.until('it is idle', (state) => state.worker.running === 0);
    t.like(after, { pid: before.pid, problem: null, finishing: 0 });
  });
}

test('a former worker that only delivers its last result is waited for', async (t) => {
  const own = await startCoordinator(t, {
    config: { jobs: { default_provider: 'echo', reap_stale_after_seconds: 60 } },
  });
  const home = emptyHome(t);
  writeSettings(home, { coordinator: own.url, api_key: adminKey, name: 'ending', providers: ['echo'] });
  const companion = await startCompanion(t, home);
  const { worker: before } = await companion.until('it works', isWorking);
  const { id } = await own.client.dispatch({ ...job('ending', 1_000), provider: 'echo' });
  await companion.until('the job runs', (state) => state.worker.running === 1);
  await own.process.kill();
  await companion.until('the job has ended', (state) => state.today.completed === 1);
  await companion.act('worker', { mode: 'off' });
  await companion.until('it drains', ({ log }) =>
    log.some(({ text }) => text === `worker ${before.pid} drains`),
  );
  await companion.act('worker', { mode: 'on' });
  const waiting = await companion.until('it waits', ({ worker }) => worker.mode === 'on');
  t.like(waiting.worker, { phase: 'ending', pid: null, problem: null });
  await own.again();
  const { worker: now } = await companion.until('another works', isWorking);
  t.not(now.pid, before.pid);
  t.is(now.problem, null);
  await until('the former has ended', () => !lives(before.pid ?? 0));
  const ended = await own.client.job(id, { waitSeconds: 20 });
  t.is(ended.status, 'completed');
  t.is(ended.attempts?.length, 1, 'its result was delivered');
});
