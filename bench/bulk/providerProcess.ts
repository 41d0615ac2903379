import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rateLimited } from '../../test/fixtures/providers/openaiChat.ts';
import { now, setupVariable } from '../support/messages.ts';
import { serveSamples } from '../support/samples.ts';
import { answerInTime } from '../support/timedAnswer.ts';
import { answerMs, Limiter, promptNumber } from './limits.ts';
import { bulkModel, type ProviderSetup, type Tally } from './messages.ts';

/**
 * A provider with a limit: `/<client>/v1` for each client, which has the limit for itself, and `/tally` for what came.
 */
const answerTokens = 20;
const { limit }: ProviderSetup = JSON.parse(process.env[setupVariable] ?? '');

interface Lane {
  limiter: Limiter;
  tally: Tally;
  taken: Set<number>;
}

const lanes = new Map<string, Lane>();

function laneOf(url: string): Lane {
  const name = url.split('/')[1] ?? '';
  const lane = lanes.get(name) ?? {
    limiter: new Limiter(limit, now),
    tally: { refused: 0, paid: 0, paidAgain: 0 },
    taken: new Set(),
  };
  lanes.set(name, lane);
  return lane;
}

const server = createServer((request, response) => {
  const { method = '', url = '' } = request;
  if (method === 'POST') void readBody(request).then((body) => complete(laneOf(url), body, response));
  else if (url === '/tally') {
    const all = [...lanes].map(([name, { tally }]) => [name, tally]);
    sendJson(response, 200, Object.fromEntries(all));
  } else sendJson(response, 200, { object: 'list', data: [{ id: bulkModel, object: 'model' }] });
});

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  return JSON.parse(text) as Record<string, unknown>;
}

function complete(
  { limiter, tally, taken }: Lane,
  body: Record<string, unknown>,
  response: ServerResponse,
): void {
  const waitSeconds = limiter.begin();
  if (waitSeconds !== null) {
    tally.refused += 1;
    sendJson(response, 429, rateLimited(), { 'retry-after': String(waitSeconds) });
    return;
  }
  response.once('close', () => limiter.end());
  const prompt = promptNumber(JSON.stringify(body.messages));
  tally.paid += 1;
  if (taken.has(prompt)) tally.paidAgain += 1;
  taken.add(prompt);
  answerInTime(response, body, { waitMs: answerMs(prompt), tokens: answerTokens, paceMs: 0 });
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  serveSamples(`http://127.0.0.1:${port}`);
});
