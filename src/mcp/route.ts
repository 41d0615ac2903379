import type { IncomingHttpHeaders } from 'node:http';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import type { Middleware } from 'koa';
import { CoordinatorError } from '../domain/errors.ts';
import { jsonBody } from '../http/middleware/jsonBody.ts';
import type { HttpParts } from '../http/parts.ts';
import type { RawRequest, ServedRoute } from '../http/route.ts';
import { isOwnOrigin } from '../lib/hosts.ts';
import { Caller } from './caller.ts';
import { answerOf } from './exchange.ts';
import { createServer } from './server.ts';

/** The SDK has to know an address; nothing is sent there. */
const ownUrl = 'http://localhost/mcp';
/** Headers that the protocol reads. The key is not among them: nothing behind the door needs it. */
const passedOn = /^(accept|content-type|mcp-.*|last-event-id|user-agent)$/;

/** POST /mcp. The role is the least one; each tool asks for its own. */
export function mcpRoute(parts: HttpParts): ServedRoute {
  const handler = createHandler(parts);
  return {
    method: 'POST',
    path: '/mcp',
    role: 'viewer',
    body: { reader: bodyReader },
    answer: async (request) => {
      const caller = new Caller(request);
      const response = await handler.fetch(requestOf(request, caller.gone), {
        authInfo: {
          token: '',
          clientId: caller.principal.keyId,
          scopes: [caller.principal.role],
          extra: { caller },
        },
        parsedBody: request.body,
      });
      return answerOf(response, caller, parts);
    },
  };
}

function createHandler(parts: HttpParts): McpHttpHandler {
  return createMcpHandler(
    ({ authInfo }) => {
      const caller = authInfo?.extra?.caller;
      if (caller instanceof Caller) return createServer(caller, parts);
      throw new Error('a request to /mcp came without its caller');
    },
    {
      // Tools and resources change with no request, so there is nothing to listen for.
      maxSubscriptions: 0,
      onerror: (error) => parts.logger.debug({ err: error }, 'a request of MCP was refused'),
    },
  );
}

/** Reads a JSON object, unless a browser sends it from another page. */
function bodyReader({ uploads, config }: HttpParts): Middleware {
  const read = jsonBody(uploads, () => config().http.maxBodyBytes);
  return (ctx, next) => {
    const { origin, host = '' } = ctx.req.headers;
    if (origin !== undefined && !isOwnOrigin(origin, host, config())) {
      throw new CoordinatorError(
        'forbidden',
        'The Origin header names another site. MCP clients send none; a page of another site may not use this service',
      );
    }
    return read(ctx, next);
  };
}

function requestOf({ headers }: Pick<RawRequest, 'headers'>, signal: AbortSignal): Request {
  return new Request(ownUrl, { method: 'POST', headers: headersOf(headers), signal });
}

function headersOf(headers: IncomingHttpHeaders): Headers {
  const passed = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && passedOn.test(name) ? [[name, value]] : [],
  );
  return new Headers(passed);
}
