import test from 'ava';
import { KeyClients } from '../../src/auth/keyClients.ts';
import { FakeClock } from '../support/fakeClock.ts';

test('a program of several machines is one client for each', (t) => {
  const clients = new KeyClients(new FakeClock());
  for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.1']) clients.note('key', 'svc-mcp/0.1.0', address);
  t.deepEqual(
    clients.of('key').clients.map(({ name, address }) => [name, address]),
    [
      ['svc-mcp/0.1.0', '10.0.0.1'],
      ['svc-mcp/0.1.0', '10.0.0.2'],
    ],
  );
});

test('names that one machine makes up drive out its own, and not those of others', (t) => {
  const clients = new KeyClients(new FakeClock());
  for (let n = 0; n < 5; n += 1) clients.note('key', 'openai-node', `10.0.0.${n}`);
  t.false(clients.of('key').hasMore);
  for (let n = 0; n < 1_000; n += 1) clients.note('key', `x${n}`, '192.0.2.1');
  const { clients: known, hasMore } = clients.of('key');
  t.true(hasMore);
  t.is(known.length, 20);
  t.is(known[0]?.name, 'x999');
  t.is(known.filter(({ name }) => name === 'openai-node').length, 5);
});
