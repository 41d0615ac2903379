import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

const path = '/shared/svc.yaml?token=a-secret';

export interface ConfigServer {
  url: URL;
  /** Every request for it, oldest first. */
  seen: IncomingMessage[];
  /** What it answers; a text is a 200 with an ETag of its own. */
  answer: string | ((request: IncomingMessage, response: ServerResponse) => void);
  /** Resolves when it has been asked `count` times. */
  asked(count: number): Promise<void>;
}

/** A real server for a remote configuration. */
export async function serveConfig(
  t: ExecutionContext,
  answer: ConfigServer['answer'],
): Promise<ConfigServer> {
  let wake = Promise.withResolvers<void>();
  const http = createServer((request, response) => {
    if (request.url !== path) {
      response.writeHead(404).end();
      return;
    }
    served.seen.push(request);
    response.once('close', () => {
      wake.resolve();
      wake = Promise.withResolvers();
    });
    if (typeof served.answer === 'function') served.answer(request, response);
    else sendTagged(served.answer, request, response);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.teardown(() => {
    http.closeAllConnections();
    http.close();
  });
  const served: ConfigServer = {
    url: new URL(path, `http://127.0.0.1:${(http.address() as AddressInfo).port}`),
    seen: [],
    answer,
    asked: async (count) => {
      while (served.seen.length < count) await wake.promise;
    },
  };
  return served;
}

function sendTagged(text: string, request: IncomingMessage, response: ServerResponse): void {
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  const isKnown = request.headers['if-none-match'] === etag;
  response.writeHead(isKnown ? 304 : 200, { etag }).end(isKnown ? undefined : text);
}
