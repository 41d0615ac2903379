import { once } from 'node:events';
import test from 'ava';
import { WebSocket } from 'ws';
import { workerSubprotocol } from '../../src/domain/workerProtocol.ts';
import { setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';

/** Try to connect as a worker with a key that nobody knows. */
async function connect(url: string): Promise<void> {
  const headers = { authorization: 'Bearer svc_worker_not_a_key_at_all' };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws/worker`, workerSubprotocol, { headers });
  await once(socket, 'open');
}

test('a worker with a refused key is seen by operators, and by the jobs that wait for it, until it stops trying', async (t) => {
  const { api, coordinator, clock, url } = await setupApi(t);
  const { job } = await coordinator.dispatch(request());
  const detailOf = async () => (await coordinator.job(job.id)).waiting?.detail ?? '';
  t.notRegex(await detailOf(), /refused/);
  for (let tries = 0; tries < 2; tries += 1) await t.throwsAsync(connect(url), { message: /401/ });
  const { json } = await api('GET', '/api/stats');
  const [refused, ...others] = json.refused_workers as { address: string; tries: number }[];
  t.deepEqual(others, []);
  t.like(refused, { address: '127.0.0.1', name: null, tries: 2 });
  t.regex(await detailOf(), /A worker is refused: 127\.0\.0\.1, the key is unknown, outdated/);
  clock.advance(180_001);
  t.deepEqual((await api('GET', '/api/stats')).json.refused_workers, []);
  t.notRegex(await detailOf(), /refused/);
});
