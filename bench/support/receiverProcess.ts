import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveSamples } from './samples.ts';

/** Takes webhooks; to a GET it answers how many it has taken. */
let taken = 0;

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    if (request.method === 'POST') taken += 1;
    response.writeHead(200).end(String(taken));
  });
});

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  serveSamples(`http://127.0.0.1:${port}`);
});
