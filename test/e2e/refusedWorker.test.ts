import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { attempt } from '../support/e2eHttp.ts';
import { startCoordinator, startSvc, until } from '../support/process.ts';

test('a worker with an old key logs that its key is refused, also when its address is slowed down', async (t) => {
  const coordinator = await startCoordinator(t, { config: { http: { failed_logins_per_minute: 1 } } });
  const headers = { authorization: 'Bearer an-old-key' };
  await until('the address is slowed down', async () => {
    const attempted = await attempt(coordinator.port, { path: '/api/jobs', headers });
    return attempted.kind === 'answer' && attempted.answer.status === 429;
  });
  const worker = startSvc(t, ['worker', '--provider', 'echo', '--coordinator', coordinator.url], {
    env: { SVC_API_KEY: 'an-old-key-0123456789' },
  });
  await worker.says(/refuses the key of this worker.*throttles this address/);
  t.pass();
});

test('a worker behind a proxy that drops the upgrade logs that it is the proxy', async (t) => {
  const coordinator = await startCoordinator(t);
  // Passes everything on but what belongs to the connection, as a proxy does that knows no WebSocket.
  const proxy = createServer(async (request, response) => {
    const answer = await fetch(`${coordinator.url}${request.url}`, {
      headers: { authorization: String(request.headers.authorization) },
    });
    response.writeHead(answer.status).end(await answer.text());
  });
  proxy.on('upgrade', (request, socket) => {
    void fetch(`${coordinator.url}${request.url}`, {
      headers: { authorization: String(request.headers.authorization) },
    }).then((answer) => socket.end(`HTTP/1.1 ${answer.status} x\r\nContent-Length: 0\r\n\r\n`));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const worker = startSvc(t, ['worker', '--provider', 'echo', '--coordinator', `http://127.0.0.1:${port}`]);
  await worker.says(/the proxy at .* does not pass on the upgrade .*status 426/);
  t.pass();
});
