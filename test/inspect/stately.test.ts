import type { ExecutionContext } from 'ava';
import test from 'ava';
import { WebSocket } from 'ws';
import { loadConfig } from '../../src/config/load.ts';
import { silent } from '../../src/lib/log.ts';
import { type Service, startService } from '../../src/service.ts';
import { environmentKey } from '../support/api.ts';
import { temporaryFolder } from '../support/folder.ts';

async function start(t: ExecutionContext, inspect: 'page' | 'stately' | undefined): Promise<Service> {
  const cwd = temporaryFolder(t);
  const { config } = await loadConfig({ env: { SVC_DATA_DIR: cwd }, cwd, overrides: { port: 0 } });
  const service = await startService({
    config,
    apiKey: environmentKey,
    logger: silent,
    inspect,
    echoWorker: { concurrency: 1 },
  });
  t.teardown(() => service.stop(0));
  return service;
}

interface Frame {
  type: string;
  sessionId: string;
  name?: string;
  definition?: string;
  event?: { type: string };
  snapshot?: { value: unknown };
}

/** A socket to the bridge. @returns the frames that come, and whether it was taken. */
function listen(t: ExecutionContext, url: string, origin?: string) {
  const socket = new WebSocket(url, origin === undefined ? {} : { origin });
  t.teardown(() => socket.terminate());
  const frames: Frame[] = [];
  let wake = () => {};
  socket.on('message', (data) => {
    frames.push(JSON.parse(String(data)) as Frame);
    wake();
  });
  const opened = new Promise<boolean>((resolve) => {
    socket.on('open', () => resolve(true));
    socket.on('error', () => resolve(false));
  });
  const next = async (fits: (frame: Frame) => boolean): Promise<Frame> => {
    for (;;) {
      const frame = frames.find(fits);
      if (frame !== undefined) return frame;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { frames, opened, next, socket };
}

test('the viewer is told of an actor with its machine, and then of its events and states', async (t) => {
  const service = await start(t, 'stately');
  const page = new URL(service.statelyUrl ?? '');
  t.is(page.hostname, '127.0.0.1');
  const view = listen(t, `ws://${page.host}${page.pathname}/out`, page.origin);
  t.true(await view.opened);
  const response = await fetch(`${service.url}/api/jobs?wait=30`, {
    method: 'POST',
    headers: { authorization: `Bearer ${environmentKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'SECRET-WORDS', provider: 'echo' }),
  });
  const { id } = (await response.json()) as { id: string };
  const ofJob = ({ sessionId }: Frame) => sessionId === `job ${id}`;
  await view.next(
    (frame) => ofJob(frame) && frame.type === '@xstate.snapshot' && frame.snapshot?.value === 'completed',
  );
  const told = view.frames.filter(ofJob);
  t.deepEqual(
    told.map(({ type, event }) => [type, event?.type]),
    [
      ['@xstate.actor', undefined],
      ['@xstate.event', 'xstate.init'],
      ['@xstate.snapshot', 'xstate.init'],
      ['@xstate.event', 'job.assigned'],
      ['@xstate.snapshot', 'job.assigned'],
      ['@xstate.event', 'job.completed'],
      ['@xstate.snapshot', 'job.completed'],
    ],
  );
  t.deepEqual(told[2]?.snapshot?.value, { pending: 'ready' });
  t.deepEqual(told[4]?.snapshot?.value, { running: 'active' });
  t.like(JSON.parse(told[0]?.definition ?? '{}'), { id: 'job', initial: 'pending' });
  t.false(JSON.stringify(view.frames).includes('SECRET-WORDS'));
});

test('the coordinator and a provider are shown to a page that opens later, with every guard by its name', async (t) => {
  const service = await start(t, 'stately');
  const headers = { authorization: `Bearer ${environmentKey}`, 'content-type': 'application/json' };
  // More than the bridge repeats: what the first ones said is long gone.
  const jobs = Array.from({ length: 120 }, () => ({ prompt: 'x', provider: 'echo' }));
  // A provider has an actor from its first trouble on.
  const limited = { prompt: 'x', provider: 'echo', params: { echo_fail: 'rate_limited' } };
  const body = JSON.stringify({ jobs: [limited, ...jobs] });
  const made = await fetch(`${service.url}/api/jobs/batch`, { method: 'POST', headers, body });
  const { jobs: ids } = (await made.json()) as { jobs: { id: string }[] };
  for (const { id } of ids) await fetch(`${service.url}/api/jobs/${id}?wait=30`, { headers });
  const page = new URL(service.statelyUrl ?? '');
  const view = listen(t, `ws://${page.host}${page.pathname}/out`, page.origin);
  t.true(await view.opened);
  const supervisor = await view.next(
    ({ type, sessionId }) => type === '@xstate.actor' && sessionId === 'supervisor supervisor',
  );
  t.like(JSON.parse(supervisor.definition ?? '{}'), { id: 'supervisor' });
  const state = await view.next(
    ({ type, sessionId }) => type === '@xstate.snapshot' && sessionId === 'supervisor supervisor',
  );
  t.like(state.snapshot?.value, { admission: 'accepting', watching: 'waiting' });
  const provider = await view.next(
    ({ type, sessionId }) => type === '@xstate.actor' && sessionId === 'provider echo',
  );
  t.regex(provider.definition ?? '', /"guard":"isStillBad"/);
});

test('its page frames the viewer alone, and nobody else gets or gives a frame', async (t) => {
  const service = await start(t, 'stately');
  const page = new URL(service.statelyUrl ?? '');
  const { headers, status } = await fetch(page);
  t.is(status, 200);
  t.regex(
    headers.get('content-security-policy') ?? '',
    /default-src 'none'; .*frame-src https:\/\/stately\.ai;/,
  );
  t.is((await fetch(page.origin)).status, 404);
  const out = `ws://${page.host}${page.pathname}/out`;
  t.false(await listen(t, out, 'https://example.org').opened, 'a foreign page');
  t.false(await listen(t, out).opened, 'no page');
  t.false(
    await listen(t, `ws://${page.host}${page.pathname}/in`, page.origin).opened,
    'a page that would tell',
  );
  t.false(await listen(t, `ws://${page.host}/in`).opened, 'without the secret');
});

test('without it there is no such page, and none after the end', async (t) => {
  t.is((await start(t, undefined)).statelyUrl, null);
  t.is((await start(t, 'page')).statelyUrl, null);
  const service = await start(t, 'stately');
  await service.stop(0);
  await t.throwsAsync(fetch(service.statelyUrl ?? ''));
});
