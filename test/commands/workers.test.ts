import test, { type ExecutionContext } from 'ava';
import { type Fixture, problem, serve, wireWorker } from '../client/server.ts';
import { svc } from './cli.ts';

const box = wireWorker();
const away = wireWorker({
  id: '01990000-0000-7000-8000-0000000000b2',
  name: 'box-2',
  connected: false,
  paused: true,
  status: 'disconnected',
});

function serveWorkers(t: ExecutionContext, workers = [box, away]): Promise<Fixture> {
  return serve(t, ({ path }) => {
    if (path === '/api/workers') return { json: { workers, total: workers.length } };
    const found = workers.find(({ id }) => path.includes(id));
    return found ? { json: found } : problem(404, 'worker_not_found', 'There is no such worker');
  });
}

test('a list shows slots, state and last word of every worker', async (t) => {
  const { url } = await serveWorkers(t);
  const { code, stdout } = await svc(t, ['workers', 'list', '--url', url]);
  t.is(code, 0);
  const [header = '', first = '', second = ''] = stdout.split('\n');
  t.regex(header, /^NAME +STATUS +KIND +PROVIDERS +RUNS +DONE +FAILED +HEARD +TAGS +ID$/);
  t.regex(first, /^box-1 +active +local +echo +0\/4 +7 +1 .*gpu +01990000-0000-7000-8000-0000000000b1$/);
  t.regex(second, /^box-2 +disconnected, paused /);
});

test('no workers is said, with what starts one', async (t) => {
  const { url } = await serveWorkers(t, []);
  const { code, stdout, stderr } = await svc(t, ['workers', 'list', '--url', url]);
  t.is(code, 0);
  t.is(stdout, '');
  t.regex(stderr, /Start one with svc worker --provider echo/);
});

test('--json prints what the API answered', async (t) => {
  const { url } = await serveWorkers(t);
  const list = await svc(t, ['workers', 'list', '--json', '--url', url]);
  t.deepEqual(JSON.parse(list.stdout), { workers: [box, away], total: 2 });
  const one = await svc(t, ['workers', 'get', 'box-1', '--json', '--url', url]);
  t.deepEqual(JSON.parse(one.stdout), box);
  const paused = await svc(t, ['workers', 'pause', 'box-1', '--json', '--url', url]);
  t.deepEqual(JSON.parse(paused.stdout), box);
});

test('a worker is shown by its name or its id', async (t) => {
  const { url } = await serveWorkers(t);
  for (const ref of ['box-1', box.id]) {
    const { code, stdout } = await svc(t, ['workers', 'get', ref, '--url', url]);
    t.is(code, 0);
    t.regex(stdout, /^Worker +box-1\nId +01990000\S+\nStatus +active\n/);
    t.regex(stdout, /\nSlots +0 of 4 in use\n/);
  }
});

test('a worker that a provider has turned away says by whom and why', async (t) => {
  const error = { class: 'auth', code: 'invalid_api_key', message: '401 \u001b[2Jno', status: 401 } as const;
  const at = '2026-11-21T08:59:00.000Z';
  const { url } = await serveWorkers(t, [
    wireWorker({
      refusals: [{ provider: 'openai', model: null, fault: 'refused', in_row: 1, at, until: null, error }],
    }),
  ]);
  const { stdout } = await svc(t, ['workers', 'get', 'box-1', '--url', url]);
  t.regex(
    stdout,
    /^Set aside +has a key that openai refuses, .+ ago, its next job is a trial: 401 no \(auth\)$/m,
  );
});

test('resize says how many jobs a worker runs at a time', async (t) => {
  const { url, seen } = await serveWorkers(t);
  const { code, stdout } = await svc(t, ['workers', 'resize', 'box-1', '2', '--url', url]);
  t.is(code, 0);
  t.is(stdout, 'box-1  0 of 4 slots in use\n');
  t.like(seen.at(-1), { method: 'PATCH', path: `/api/workers/${box.id}`, body: { concurrency: 2 } });
  const wrong = await svc(t, ['workers', 'resize', 'box-1', 'two', '--url', url]);
  t.is(wrong.code, 2);
  t.regex(wrong.stderr, /whole number from 0 to 10000/);
});

test('forget takes workers out of the list', async (t) => {
  const { url, seen } = await serveWorkers(t);
  const { code, stdout } = await svc(t, ['workers', 'forget', 'box-2', '--url', url]);
  t.is(code, 0);
  t.is(stdout, 'box-2  forgotten\n');
  t.like(seen.at(-1), { method: 'DELETE', path: `/api/workers/${away.id}` });
});

for (const act of ['pause', 'resume'] as const) {
  test(`${act} takes names and ids, several at once`, async (t) => {
    const { url, seen } = await serveWorkers(t);
    const { code, stdout } = await svc(t, ['workers', act, 'box-1', away.id, '--url', url]);
    t.is(code, 0);
    t.is(stdout, 'box-1  active\nbox-2  disconnected, paused\n');
    const posts = seen.filter(({ method }) => method === 'POST').map(({ path }) => path);
    t.deepEqual(posts, [`/api/workers/${box.id}/${act}`, `/api/workers/${away.id}/${act}`]);
  });
}

test('a worker that nobody knows is refused with 5 and the nearest name', async (t) => {
  const { url } = await serveWorkers(t, [box]);
  const near = await svc(t, ['workers', 'pause', 'bxo-1', '--url', url]);
  t.is(near.code, 5);
  t.regex(near.stderr, /There is no worker bxo-1; did you mean box-1\?/);
  const far = await svc(t, ['workers', 'get', 'elephant', '--url', url]);
  t.regex(far.stderr, /There is no worker elephant; known: box-1/);
});
