import test from 'ava';
import { closeCodes } from '../../src/domain/workerProtocol.ts';
import { setupApi } from '../support/api.ts';
import { dashboard } from './support/dashboard.ts';
import { Stream } from './support/stream.ts';

test('who answers pings stays; who misses two is cut off', async (t) => {
  const bundle = await setupApi(t);
  const alive = await dashboard(t, bundle);
  const dead = await dashboard(t, bundle, { autoPong: false });
  let pings = 0;
  const pinged = () =>
    new Promise<void>((resolve) => {
      alive.socket.once('ping', () => {
        pings += 1;
        resolve();
      });
    });
  for (let round = 0; round < 4; round += 1) {
    const next = pinged();
    bundle.clock.advance(20_000);
    await next;
    // Its pong has arrived when what was sent after it is answered.
    await alive.settled();
  }
  t.is(await dead.closed, 1006);
  t.is(pings, 4);
  t.is(bundle.live.subscriberCount, 1);
});

test('a connection lasts a day; who comes a little later stays a little longer', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  const stream = new Stream(t, bundle, '/api/events');
  await stream.next('hello');
  bundle.clock.stall(60_000);
  const later = await dashboard(t, bundle);
  bundle.clock.stall(86_400_000 - 61_000);
  await view.settled();
  bundle.clock.stall(20_000);
  t.is(await view.closed, closeCodes.goingAway);
  await stream.ended;
  await later.settled();
  t.is(bundle.live.subscriberCount, 1);
});

test('the end of a key ends what lives on it, and nothing else', async (t) => {
  const bundle = await setupApi(t);
  const { id, key } = (await bundle.api('POST', '/api/keys', { role: 'viewer' })).json;
  const headers = { authorization: `Bearer ${key}` };
  const view = await dashboard(t, bundle, { headers });
  const stream = new Stream(t, bundle, '/api/events', headers);
  const other = await dashboard(t, bundle);
  await stream.next('snapshot', 3);
  await bundle.api('DELETE', `/api/keys/${id}`);
  t.is(await view.closed, closeCodes.keyRefused);
  await stream.ended;
  await other.settled();
  t.is(bundle.live.subscriberCount, 1);
});

test('a ticket’s connection ends with the key that asked for the ticket', async (t) => {
  const bundle = await setupApi(t);
  const { id, key } = (await bundle.api('POST', '/api/keys', { role: 'viewer' })).json;
  const asViewer = { authorization: `Bearer ${key}` };
  const { ticket } = (await bundle.api('POST', '/api/tickets', undefined, asViewer)).json;
  const protocols = ['svc.v1', `ticket.${ticket}`];
  const view = await dashboard(t, bundle, { protocols, headers: { origin: bundle.url } });
  await bundle.api('DELETE', `/api/keys/${id}`);
  t.is(await view.closed, closeCodes.keyRefused);
});

test('a stop sends everybody away with 1001, and nobody is let in any more', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  await view.subscribe('jobs');
  const stream = new Stream(t, bundle, '/api/events');
  await stream.next('hello');
  bundle.live.close();
  t.is(await view.closed, closeCodes.goingAway);
  await stream.ended;
  await t.throwsAsync(dashboard(t, bundle), { message: /503/ });
  t.like(await bundle.api('GET', '/api/events'), { status: 503, json: { code: 'draining' } });
});

test('who does not answer the close is cut off after a second', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  const stream = new Stream(t, bundle, '/api/events');
  await stream.next('hello');
  // Neither reads the close.
  view.socket.pause();
  stream.pause();
  bundle.live.close();
  bundle.clock.advance(1_000);
  view.socket.resume();
  t.true([1001, 1006].includes(await view.closed));
  t.is(bundle.live.subscriberCount, 0);
});
