import { statSync } from 'node:fs';
import test from 'ava';
import { adminKey, sharedCoordinator, startCoordinator, until } from '../support/process.ts';
import { emptyHome, lives, settingsText, startCompanion, writeSettings } from './companion.ts';

/** Jobs with the tag of a test go to its worker. */
const named = ['empty-home', 'rotated', 'former', 'paused'];
const rules = named.map((name) => ({ match: { tags: [name] }, provider: 'echo', worker: name }));
const coordinator = sharedCoordinator({ config: { routing: { rules } } });

const job = (tag: string, ms: number) => ({ prompt: 'p', tags: [tag], params: { echo_delay_ms: ms } });

test.serial('from an empty home to a running worker, and back', async (t) => {
  const { url, client } = coordinator();
  const home = emptyHome(t);
  const companion = await startCompanion(t, home);
  const first = await companion.until('it waits for a key', ({ worker }) => worker.phase === 'setup');
  t.is(first.settings.coordinator, 'http://127.0.0.1:7420');
  t.is(statSync(home.settings).mode & 0o777, 0o600);
  t.is(statSync(`${home.state}/running.json`).mode & 0o777, 0o600);
  const { key } = await client.createKey({ role: 'worker', name: 'empty-home' });
  const tested = await companion.act('test', { coordinator: url, key });
  t.like(await tested.json(), { isUsable: true });
  const saved = { coordinator: url, key, name: 'empty-home', providers: ['echo'], concurrency: 2 };
  t.is((await companion.act('settings', saved)).status, 200);
  const working = await companion.until('it works', ({ worker }) => worker.phase === 'working');
  t.like(working.worker, { slots: 2, problem: null });
  t.true(working.settings.key?.startsWith('svc_worker_'));
  t.false(JSON.stringify(working).includes(key));
  t.is(statSync(home.settings).mode & 0o777, 0o600);

  const done = await client.dispatch(job('empty-home', 0), { waitSeconds: 20 });
  t.is(done.status, 'completed');
  const { today } = await companion.until('it is counted', (state) => state.today.completed === 1);
  t.true(today.inputTokens > 0 && today.outputTokens > 0);

  companion.process.signal('SIGTERM');
  t.deepEqual(await companion.process.exited, { code: 0, signal: null });
  t.false(lives(working.worker.pid ?? 0));
  const again = await startCompanion(t, home);
  const back = await again.until('it works again', ({ worker }) => worker.phase === 'working');
  t.is(back.today.completed, 1);
});

test.serial(
  'a key that is changed in the file is in use within two seconds, and the running job is not lost',
  async (t) => {
    const { url, client } = coordinator();
    const home = emptyHome(t);
    const { id: keyId, key } = await client.createKey({ role: 'worker', name: 'rotated' });
    writeSettings(home, { coordinator: url, api_key: key, name: 'rotated', providers: ['echo'] });
    const companion = await startCompanion(t, home);
    const { worker } = await companion.until('it works', (state) => state.worker.phase === 'working');
    const { id } = await client.dispatch(job('rotated', 6_000));
    await companion.until('the job runs here', (state) => state.worker.running === 1);
    const { key: next } = await client.rotateKey(keyId, 3);
    t.not(next, key);
    const changedAt = performance.now();
    writeSettings(home, { coordinator: url, api_key: next, name: 'rotated', providers: ['echo'] });
    await companion.until(
      'it has changed the key',
      ({ log }) => log.filter(({ text }) => text.startsWith('the key has changed')).length === 1,
    );
    const now = await companion.until(
      'it works',
      (state) => state.worker.phase === 'working',
      companion.soonMs,
    );
    t.true(performance.now() - changedAt < companion.soonMs);
    t.is(now.worker.pid, worker.pid, 'the process stays');
    t.is(now.worker.running, 1);
    const ended = await client.job(id, { waitSeconds: 20 });
    t.is(ended.status, 'completed');
    t.is(ended.attempts?.length, 1, 'it ran once');
    // The old key is gone by now.
    const late = await client.dispatch(job('rotated', 0), { waitSeconds: 20 });
    t.is(late.status, 'completed');
  },
);

test.serial(
  'slots and providers that are changed on the page hold at once, in the same process',
  async (t) => {
    const { url } = coordinator();
    const home = emptyHome(t);
    writeSettings(home, { coordinator: url, api_key: adminKey, name: 'resized', providers: ['echo'] });
    const companion = await startCompanion(t, home);
    const { worker } = await companion.until('it works', (state) => state.worker.phase === 'working');
    t.is((await companion.act('settings', { concurrency: 5 })).status, 200);
    const now = await companion.until('it has 5', (state) => state.worker.slots === 5, companion.soonMs);
    t.is(now.worker.pid, worker.pid);
    t.regex(settingsText(home), /"?concurrency"?: 5/);
  },
);

test.serial('another name starts another worker at once, and the former one finishes its job', async (t) => {
  const { url, client } = coordinator();
  const home = emptyHome(t);
  writeSettings(home, { coordinator: url, api_key: adminKey, name: 'former', providers: ['echo'] });
  const companion = await startCompanion(t, home);
  const { worker } = await companion.until('it works', (state) => state.worker.phase === 'working');
  const { id } = await client.dispatch(job('former', companion.soonMs + 2_000));
  await companion.until('the job runs', (state) => state.worker.running === 1);
  await companion.act('settings', { name: 'latter' });
  const now = await companion.until(
    'another works',
    (state) => state.worker.phase === 'working' && state.settings.name === 'latter',
    companion.soonMs,
  );
  t.not(now.worker.pid, worker.pid);
  t.is(now.worker.finishing, 1);
  const ended = await client.job(id, { waitSeconds: 20 });
  t.is(ended.status, 'completed');
  t.is(ended.attempts?.length, 1);
  await until('the former has ended', () => !lives(worker.pid ?? 0));
});

test.serial('a worker that is killed is started again', async (t) => {
  const { url } = coordinator();
  const home = emptyHome(t);
  writeSettings(home, { coordinator: url, api_key: adminKey, name: 'killed', providers: ['echo'] });
  const companion = await startCompanion(t, home);
  const { worker } = await companion.until('it works', (state) => state.worker.phase === 'working');
  process.kill(worker.pid ?? 0, 'SIGKILL');
  const again = await companion.until(
    'it works again',
    (state) => state.worker.phase === 'working' && state.worker.pid !== worker.pid,
  );
  t.is(again.worker.problem, null);
});

test.serial('paused it stays connected and takes no work, off it ends; both survive a restart', async (t) => {
  const { url, client } = coordinator();
  const home = emptyHome(t);
  writeSettings(home, {
    coordinator: url,
    api_key: adminKey,
    name: 'paused',
    providers: ['echo'],
  });
  const companion = await startCompanion(t, home);
  const { worker } = await companion.until('it works', (state) => state.worker.phase === 'working');
  const { id } = await client.dispatch(job('paused', 2_500));
  await companion.until('a job runs', (state) => state.worker.running === 1);
  await companion.act('worker', { mode: 'paused' });
  const draining = await until('the coordinator knows', async () => {
    const { workers } = await client.workers();
    return workers.find(({ name, status }) => name === 'paused' && status === 'draining');
  });
  t.true(draining.connected);
  await companion.act('worker', { mode: 'on' });
  await until('it takes work again', async () => {
    const { workers } = await client.workers();
    return workers.some(({ name, status }) => name === 'paused' && status === 'active');
  });
  const ended = await client.job(id, { waitSeconds: 20 });
  t.is(ended.status, 'completed');
  t.is(ended.attempts?.length, 1, 'it ran on all the time');
  await companion.act('worker', { mode: 'off' });
  await companion.until('it is off', (state) => state.worker.phase === 'off');
  await until('the process has ended', () => !lives(worker.pid ?? 0));
  companion.process.signal('SIGTERM');
  await companion.process.exited;
  const again = await startCompanion(t, home);
  t.is((await again.until('it is off', () => true)).worker.phase, 'off');
});

test.serial('a coordinator that goes away and comes back finds its worker again', async (t) => {
  const own = await startCoordinator(t);
  const home = emptyHome(t);
  writeSettings(home, { coordinator: own.url, api_key: adminKey, name: 'faithful', providers: ['echo'] });
  const companion = await startCompanion(t, home);
  const { worker } = await companion.until('it works', (state) => state.worker.phase === 'working');
  await own.process.kill();
  const lost = await companion.until('it is lost', (state) => state.worker.phase === 'starting');
  t.regex(lost.worker.problem?.message ?? '', /cannot be reached|connection was lost/);
  await own.again();
  const back = await companion.until('it is back', (state) => state.worker.phase === 'working');
  t.is(back.worker.pid, worker.pid);
});

test.serial('a key that the coordinator does not know is shown with what to do', async (t) => {
  const { url, client } = coordinator();
  const home = emptyHome(t);
  writeSettings(home, {
    coordinator: url,
    api_key: 'svc_worker_aaaaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbb',
    name: 'refused',
    providers: ['echo'],
  });
  const companion = await startCompanion(t, home);
  const { worker } = await companion.until('it is refused', (state) => state.worker.problem !== null);
  t.regex(worker.problem?.message ?? '', /401 Unauthorized/);
  t.regex(worker.problem?.advice ?? '', /svc keys create --role worker/);
  const { key } = await client.createKey({ role: 'worker', name: 'refused' });
  await companion.act('settings', { key });
  const now = await companion.until(
    'it works',
    (state) => state.worker.phase === 'working',
    companion.soonMs,
  );
  t.is(now.worker.problem, null);
});

test.serial(
  'a file that cannot be used is shown with its line, and the last settings stay in use',
  async (t) => {
    const { url } = coordinator();
    const home = emptyHome(t);
    const worker = { coordinator: url, api_key: adminKey, name: 'typing', providers: ['echo'] };
    writeSettings(home, worker);
    const companion = await startCompanion(t, home);
    await companion.until('it works', (state) => state.worker.phase === 'working');
    writeSettings(home, { ...worker, concurrency: 'many' });
    const { settings } = await companion.until('it is shown', (state) => state.settings.problem !== null);
    t.regex(settings.problem ?? '', /companion\.yaml.*concurrency/s);
    t.is(settings.name, 'typing');
    writeSettings(home, { ...worker, concurrency: 3 });
    await companion.until(
      'it is used again',
      (state) => state.worker.slots === 3 && state.settings.problem === null,
    );
  },
);
