import { once } from 'node:events';
import test from 'ava';
import { WebSocket } from 'ws';
import { workerSubprotocol } from '../../src/domain/workerProtocol.ts';
import { setupApi } from '../support/api.ts';
import { until } from '../support/process.ts';

test('of a worker 12,000 frames are read in a second; the rest waits for the next and is not lost', async (t) => {
  const { api, clock, keys, port } = await setupApi(t);
  const headers = { authorization: `Bearer ${keys.worker}` };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws/worker`, workerSubprotocol, { headers });
  t.teardown(() => socket.terminate());
  let acks = 0;
  socket.on('message', (data) => {
    if (String(data).includes('heartbeat_ack')) acks += 1;
  });
  await once(socket, 'open');
  socket.send('{"type":"hello","name":"w","kind":"cloud","providers":["echo"],"concurrency":1}');
  await once(socket, 'message');
  const frames = 20_000;
  for (let i = 0; i < frames; i += 1) socket.send('{"type":"heartbeat","running":[]}');
  const slowed = async () =>
    /^svc_worker_slowed_total (\d+)$/m.exec((await api('GET', '/metrics')).text)?.[1];
  // The clock stands still, so the second does not end by itself.
  await until('it is not read any more', async () => (await slowed()) === '1');
  t.true(acks < frames);
  clock.advance(1_000);
  await until('all is answered', () => acks === frames);
  t.is(await slowed(), '1');
});
