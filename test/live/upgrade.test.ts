import test from 'ava';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { Dashboard } from './support/dashboard.ts';

async function ticketOf({ api }: ApiBundle, key?: string): Promise<string> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return String((await api('POST', '/api/tickets', undefined, headers)).json.ticket);
}

test('a browser comes in with its own Origin and a ticket, which is taken once', async (t) => {
  const bundle = await setupApi(t);
  const ticket = await ticketOf(bundle, bundle.keys.viewer);
  const options = { protocols: ['svc.v1', `ticket.${ticket}`], headers: { origin: bundle.url } };
  const first = new Dashboard(t, bundle, options);
  t.is(await first.opened, 101);
  t.is(first.socket.protocol, 'svc.v1');
  t.like(await first.next('hello'), { role: 'viewer' });
  t.is(await new Dashboard(t, bundle, options).opened, 401);
});

test('without a ticket, with a wrong one, or with one of a key that was taken back, it is 401', async (t) => {
  const bundle = await setupApi(t);
  const headers = { origin: bundle.url };
  const status = (...protocols: string[]) => new Dashboard(t, bundle, { protocols, headers }).opened;
  t.is(await status('svc.v1'), 401);
  t.is(await status('svc.v1', 'ticket.wrong'), 401);
  t.is(await status('svc.v1', 'ticket.'), 401);
  const { id, key } = (await bundle.api('POST', '/api/keys', { role: 'viewer' })).json;
  const ticket = await ticketOf(bundle, String(key));
  await bundle.api('DELETE', `/api/keys/${id}`);
  t.is(await status('svc.v1', `ticket.${ticket}`), 401);
  const late = await ticketOf(bundle);
  bundle.clock.advance(30_000);
  t.is(await status('svc.v1', `ticket.${late}`), 401);
});

test('a foreign page is refused, whatever it holds', async (t) => {
  const bundle = await setupApi(t);
  const authorization = `Bearer ${bundle.keys.viewer}`;
  const status = (headers: Record<string, string>, protocols = ['svc.v1']) =>
    new Dashboard(t, bundle, { protocols, headers }).opened;
  t.is(await status({ authorization, origin: 'http://evil.example' }), 403);
  t.is(await status({ authorization, origin: `http://127.0.0.1:${bundle.port + 1}` }), 403);
  t.is(await status({ authorization, origin: 'null' }), 403);
  t.is(await status({ authorization, host: 'evil.example', origin: 'http://evil.example' }), 403);
  const ticket = await ticketOf(bundle);
  t.is(await status({ origin: 'http://evil.example' }, ['svc.v1', `ticket.${ticket}`]), 403);
  t.is(await status({}, ['svc.v1', `ticket.${ticket}`]), 403, 'a browser says where it is from');
  t.is(await status({ origin: bundle.url }, ['svc.v1', `ticket.${ticket}`]), 101, 'no refusal used it up');
});

test('the page at public_url is our own, and a program needs no Origin', async (t) => {
  const bundle = await setupApi(t, { publicUrl: 'https://svc.example.org' });
  const authorization = `Bearer ${bundle.keys.viewer}`;
  const status = (headers: Record<string, string>) => new Dashboard(t, bundle, { headers }).opened;
  t.is(await status({ authorization, origin: 'https://svc.example.org' }), 101);
  t.is(await status({ authorization, origin: 'https://other.example.org' }), 403);
  t.is(await status({ authorization }), 101);
  t.is(await status({ authorization: 'Bearer wrong' }), 401);
});

test('the key of a worker opens no live view', async (t) => {
  const bundle = await setupApi(t);
  const headers = { authorization: `Bearer ${bundle.keys.worker}` };
  t.is(await new Dashboard(t, bundle, { headers }).opened, 403);
});

test('there is room for live.max_subscribers; one more is asked to come later', async (t) => {
  const bundle = await setupApi(t, { live: { maxSubscribers: 2 } });
  const first = new Dashboard(t, bundle);
  t.is(await first.opened, 101);
  t.is(await new Dashboard(t, bundle).opened, 101);
  t.is(await new Dashboard(t, bundle).opened, 429);
  t.like(await bundle.api('GET', '/api/events'), { status: 429, json: { code: 'rate_limited' } });
  first.socket.close();
  await first.closed;
  t.is(await new Dashboard(t, bundle).opened, 101);
});
