import type { AddressInfo } from 'node:net';
import test from 'ava';
import { refuseStarting } from '../../src/assemble.ts';
import { Listener } from '../../src/lib/listener.ts';

test('until there is something to serve every request is refused, in the form of its API', async (t) => {
  const listener = new Listener({}, refuseStarting);
  t.teardown(() => listener.close());
  await new Promise<void>((resolve) => listener.server.listen(0, '127.0.0.1', resolve));
  const { port } = listener.server.address() as AddressInfo;
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  for (const path of ['/api/jobs', '/v1x', '/']) {
    const response = await get(path);
    t.is(response.status, 503);
    t.is(response.headers.get('content-type'), 'application/problem+json');
    t.is(response.headers.get('retry-after'), '1');
    t.like(await response.json(), { status: 503, code: 'starting' });
  }
  for (const path of ['/v1/models?a=b', '/v1']) {
    const response = await get(path);
    t.is(response.status, 503);
    t.is(response.headers.get('content-type'), 'application/json');
    t.is(response.headers.get('x-should-retry'), 'true');
    t.is(response.headers.get('retry-after'), '1');
    t.like(await response.json(), { error: { code: 'starting', type: 'server_error', param: null } });
  }
  listener.open((_request, response) => response.end('served'));
  t.is(await (await get('/v1')).text(), 'served');
});
