import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { everything } from '../store/jobs.ts';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';

interface Client {
  id: string;
  authorization: string;
}

async function clientKey({ api }: ApiBundle, more: object = {}): Promise<Client> {
  const { id, key } = (await api('POST', '/api/keys', { role: 'client', ...more })).json;
  return { id: String(id), authorization: `Bearer ${key}` };
}

/** A raw request. @returns its socket, and what came when it has ended. */
function raw(t: ExecutionContext, { port }: ApiBundle, head: string[], body = '') {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  socket.write(`${[...head, 'Host: 127.0.0.1'].join('\r\n')}\r\n\r\n${body}`);
  const ended = once(socket, 'close').then(() => text);
  return { socket, ended };
}

/** Each ends the key of a request that is under way. */
const ends: Record<string, (bundle: ApiBundle, key: Client) => Promise<unknown>> = {
  revoked: ({ api }, { id }) => api('DELETE', `/api/keys/${id}`),
  rotated: ({ api }, { id }) => api('POST', `/api/keys/${id}/rotate`, { grace_seconds: 0 }),
  'out of its grace': async ({ api, clock }, { id }) => {
    await api('POST', `/api/keys/${id}/rotate`, { grace_seconds: 5 });
    clock.advance(5_000);
  },
  expired: async ({ clock }) => clock.advance(60_000),
};

for (const [what, end] of Object.entries(ends)) {
  test(`a key that is ${what} gets no answer that it waited for, and its upload ends`, async (t) => {
    const bundle = await setupApi(t);
    const { api, clock, coordinator } = bundle;
    const key = await clientKey(bundle, { expires_at: new Date(clock.now() + 60_000).toISOString() });
    const worker = await bundle.worker();
    const dispatched = api('POST', '/api/jobs?wait=100', { prompt: 'p', provider: 'echo' }, key as never);
    const job = await worker.job();
    const watched = api('GET', `/api/jobs/${job.job_id}?wait=100`, undefined, key as never);
    const upload = raw(
      t,
      bundle,
      [
        'POST /api/jobs HTTP/1.1',
        `Authorization: ${key.authorization}`,
        'Content-Type: application/json',
        'Content-Length: 1000',
      ],
      '{"prompt":"',
    );
    // When a later request has its answer, the earlier ones are under way.
    t.is((await api('GET', '/api/jobs', undefined, key as never)).json.total, 1);
    await end(bundle, key);
    for (const refused of await Promise.all([dispatched, watched])) {
      t.like(refused, { status: 401, json: { code: 'authentication_failed' } });
    }
    t.regex(await upload.ended, /^HTTP\/1\.1 401 /);
    t.is((await coordinator.jobs(everyJob)).total, 1);
    await worker.complete(job);
    t.is((await api('GET', `/api/jobs/${job.job_id}`)).json.status, 'completed');
    t.regex((await api('GET', '/metrics')).text, /^svc_connections_ended_total\{reason="key"\} 3$/m);
  });
}

const everyJob = { ...everything, limit: 50, offset: 0 };

test('answers and exports that are being read break off with the key, those of other keys do not', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator } = bundle;
  const ids: string[] = [];
  for (let i = 0; i < 8; i += 1) {
    const { job } = await coordinator.dispatch(
      request({ provider: 'nobody', prompt: 'x'.repeat(8 * 1024 * 1024) }),
    );
    ids.push(job.id);
  }
  const [gone, kept] = [await clientKey(bundle), await clientKey(bundle)];
  const read = async (path: string, key: Client): Promise<{ socket: Socket; ended: Promise<string> }> => {
    const reading = raw(t, bundle, [
      `GET ${path} HTTP/1.1`,
      `Authorization: ${key.authorization}`,
      'Connection: close',
    ]);
    await once(reading.socket, 'data');
    reading.socket.pause();
    return reading;
  };
  const paths = [`/api/jobs/${ids[0]}`, '/api/jobs/export', '/api/jobs/export'];
  const cut = await Promise.all(paths.map((path) => read(path, gone)));
  const whole = await read('/api/jobs/export', kept);
  await bundle.api('DELETE', `/api/keys/${gone.id}`);
  for (const reading of [...cut, whole]) reading.socket.resume();
  const [job = '', ...exports] = await Promise.all(cut.map(({ ended }) => ended));
  t.true(job.length < 8 * 1024 * 1024, `${job.length} bytes`);
  for (const text of exports) t.true(text.length < 60 * 1024 * 1024, `${text.length} bytes`);
  t.true((await whole.ended).length > 64 * 1024 * 1024);
});

test('an idle connection of an ended key may go on with another one', async (t) => {
  const bundle = await setupApi(t);
  const key = await clientKey(bundle);
  const socket = connect(bundle.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const ask = async (authorization: string): Promise<string> => {
    socket.write(`GET /api/stats HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\n\r\n`);
    const [part] = await once(socket, 'data');
    return String(part).slice(0, 12);
  };
  t.is(await ask(key.authorization), 'HTTP/1.1 200');
  await bundle.api('DELETE', `/api/keys/${key.id}`);
  t.is(await ask(key.authorization), 'HTTP/1.1 401');
  t.is(await ask(`Bearer ${bundle.keys.viewer}`), 'HTTP/1.1 200');
});
