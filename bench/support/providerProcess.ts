import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropic } from '../../test/fixtures/providers/anthropic.ts';
import type { Dialect } from '../../test/fixtures/providers/dialect.ts';
import { gemini } from '../../test/fixtures/providers/gemini.ts';
import { ollama } from '../../test/fixtures/providers/ollamaChat.ts';
import { openaiChat } from '../../test/fixtures/providers/openaiChat.ts';
import { answerTokens, pacedModel, timingOf, tokenOf } from './providers.ts';
import { serveSamples } from './samples.ts';
import { answerInTime } from './timedAnswer.ts';

/**
 * All providers in one: the dialect goes by the path. A model called `pacedModel` speaks at a steady rate for as long as it
 * is listened to, a timed one as its name says; any other answers `answerTokens` tokens at once.
 */
const dialects: readonly Dialect[] = [openaiChat, anthropic, gemini, ollama];
const paceMs = 1000 / 30;

/** Streams under way, and the bytes of their next token. All speak on one timer, as one server would. */
const paced = new Map<ServerResponse, Buffer>();
let nextAt = performance.now();

function speak(): void {
  for (const [response, token] of paced) response.write(token);
  nextAt = Math.max(nextAt + paceMs, performance.now());
  setTimeout(speak, Math.max(0, nextAt - performance.now()));
}
speak();

const server = createServer((request, response) => {
  const { method = '', url = '' } = request;
  if (method === 'GET') {
    const isOllama = url.startsWith('/api/tags');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(isOllama ? '{"models":[]}' : '{"object":"list","data":[]}');
    return;
  }
  let text = '';
  request.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  request.on('end', () => {
    const dialect = dialects.find(({ path }) => path.test(url));
    if (dialect === undefined) {
      response.writeHead(404).end();
      return;
    }
    const body = JSON.parse(text) as Record<string, unknown>;
    const model = String(body.model ?? url);
    const timing = timingOf(model);
    if (timing !== null) {
      answerInTime(response, body, timing);
      return;
    }
    const turn = { model, text: [] };
    const script = dialect.script(turn, body);
    response.writeHead(200, { 'content-type': dialect.contentType });
    if (model.includes(pacedModel)) {
      response.write(script.begin().join(''));
      paced.set(response, Buffer.from(script.text(tokenOf(0))));
      response.once('close', () => paced.delete(response));
      return;
    }
    const tokens = Array.from({ length: answerTokens }, (_, index) => script.text(tokenOf(index)));
    response.end([...script.begin(), ...tokens, ...script.end()].join(''));
  });
});

// Connections wait while the calls through the worker take their turn: Node would close them after 5 s.
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  serveSamples(`http://127.0.0.1:${port}`);
});
