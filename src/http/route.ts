import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import Router from '@koa/router';
import type { Middleware, ParameterizedContext } from 'koa';
import { CoordinatorError } from '../domain/errors.ts';
import { type Principal, type Role, roleMay } from '../domain/key.ts';
import { isShort } from '../lib/jsonPieces.ts';
import { longAnswer } from './longJson.ts';

/** What a handler sees of a request. */
export interface RouteContext {
  /** `id` in small letters, as ids are made: https://www.rfc-editor.org/rfc/rfc9562#section-4 takes either. */
  params: Record<string, string>;
  query: Record<string, string | string[] | undefined>;
  headers: IncomingHttpHeaders;
  body: unknown;
  principal: Principal;
  /** A signal that is aborted when the client goes before its answer. */
  whenGone(): AbortSignal;
}

/** What a handler answers: JSON, a text of another type or a long one in chunks, and 200 unless it says otherwise. */
export type Answer = {
  status?: number;
  headers?: Record<string, string>;
} & ({ json: unknown } | TextAnswer);

/** A text, or one that nobody holds whole. */
export type TextAnswer = { type: string; text: string } | { type: string; chunks: AsyncIterable<string> };

interface RouteBase {
  path: string;
  /** Part of the route: there is none without. */
  role: Role;
  /** Its answers hold a secret, and are not compressed. */
  holdsSecret?: true;
}

/** A route that answers at once, JSON unless it says otherwise. */
export interface JsonRoute extends RouteBase {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Whether it reads a JSON body, or what reads another kind of body; without this it reads none. */
  body?: 'required' | 'optional' | Middleware;
  handle(request: RouteContext): Promise<Answer> | Answer;
}

/** A route that answers an event stream. A browser can send it no key, so it takes a ticket too. */
export interface StreamRoute extends RouteBase {
  method: 'GET';
  body?: undefined;
  /**
   * What throws here is answered as a problem, as everywhere.
   * @returns what takes the answer over, or null when there is nothing to stream: 204.
   */
  stream(request: RouteContext): Promise<((response: ServerResponse) => void) | null>;
}

export type Route = JsonRoute | StreamRoute;

/**
 * The routes as Koa middleware: checks the role, reads the body where there is one, answers JSON.
 * @throws at start, when a route has no role that exists.
 */
export function routing(routes: readonly Route[], readBody: Middleware): Middleware {
  // Case counts: a proxy that keeps /api/keys for some must not be passed by /API/keys.
  const router = new Router({ sensitive: true });
  for (const route of routes) {
    if (!(route.role in rolesByName)) throw new Error(`${route.method} ${route.path} declares no role`);
    const handler: Middleware = async (ctx) => ('stream' in route ? stream(ctx, route) : respond(ctx, route));
    const before: Middleware[] = [
      nameRoute(route),
      roleGuard(route.role),
      ...('body' in route ? bodyReader(route, readBody) : []),
    ];
    router.register(route.path, [route.method], [...before, handler]);
  }
  const routed = router.routes();
  const offered = (path: string): string[] => [
    ...new Set(router.match(path, '').path.flatMap(({ methods }) => methods)),
  ];
  return async (ctx, next) => {
    await routed(ctx as Parameters<typeof routed>[0], async () => {
      const allow = offered(ctx.path);
      if (allow.length > 0) {
        throw new CoordinatorError('method_not_allowed', `${ctx.method} is not offered here`, { allow });
      }
      await next();
    });
  };
}

function bodyReader({ body }: Route, readBody: Middleware): Middleware[] {
  if (body === undefined) return [];
  if (body === 'required') return [readBody];
  if (body !== 'optional') return [body];
  return [(ctx, next) => (hasBody(ctx.req) ? readBody(ctx, next) : next())];
}

/** RFC 9112, 6.3: a request has a body when it names a length or a transfer coding. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

const rolesByName: Record<Role, true> = {
  viewer: true,
  client: true,
  operator: true,
  admin: true,
  worker: true,
  metrics: true,
};

/** For the figures and the compression: which route it is that answers. */
function nameRoute({ path, holdsSecret }: Route): Middleware {
  return (ctx, next) => {
    ctx.state.route = path;
    ctx.state.holdsSecret = holdsSecret;
    return next();
  };
}

function roleGuard(needed: Role): Middleware {
  return (ctx, next) => {
    const principal: Principal = ctx.state.principal;
    if (!roleMay(principal.role, needed)) {
      throw new CoordinatorError(
        'forbidden',
        `A key with the role ${principal.role} may not do this; it needs ${needed}`,
      );
    }
    return next();
  };
}

function contextOf(ctx: ParameterizedContext): RouteContext {
  const { id } = ctx.params;
  return {
    params: id === undefined ? ctx.params : { ...ctx.params, id: id.toLowerCase() },
    query: ctx.query,
    headers: ctx.headers,
    body: ctx.request.body,
    principal: ctx.state.principal,
    whenGone: () => whenGone(ctx.res),
  };
}

async function respond(ctx: ParameterizedContext, route: JsonRoute): Promise<void> {
  const handled = await route.handle(contextOf(ctx));
  const answer = 'json' in handled && !isShort(handled.json) ? await longAnswer(handled) : handled;
  ctx.status = answer.status ?? 200;
  if (answer.headers !== undefined) ctx.set(answer.headers);
  ctx.type = 'type' in answer ? answer.type : 'application/json';
  if ('chunks' in answer) ctx.body = longBody(answer.chunks, ctx.res);
  else ctx.body = 'text' in answer ? answer.text : JSON.stringify(answer.json);
}

/**
 * A text that nobody holds whole: a chunk is made when the client has read those before, and none any more when it has
 * gone. What fails half way breaks the connection, so that a part is not taken for the whole.
 */
function longBody(chunks: AsyncIterable<string>, response: ServerResponse): Readable {
  const body = Readable.from(chunks, { objectMode: false });
  body.once('error', () => response.destroy());
  return body;
}

async function stream(ctx: ParameterizedContext, route: StreamRoute): Promise<void> {
  const start = await route.stream(contextOf(ctx));
  if (start === null || ctx.method === 'HEAD') {
    ctx.status = start === null ? 204 : 200;
    if (start !== null) ctx.type = 'text/event-stream';
    return;
  }
  // From here on the answer is not Koa's.
  ctx.respond = false;
  start(ctx.res);
}

/** Whether a request goes to a route that answers an event stream. */
export function streamPaths(routes: readonly Route[]): (path: string) => boolean {
  const patterns = routes
    .filter((route) => 'stream' in route)
    .map(({ path }) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}/?$`));
  return (path) => patterns.some((pattern) => pattern.test(path));
}

/**
 * Aborted when the client has gone before its answer. Made only for handlers that ask for it: aborting makes a
 * DOMException with a stack, 16 µs that every request would pay.
 */
function whenGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  // It may have gone before anybody asked: the event comes once.
  if (response.destroyed) gone.abort();
  response.once('close', () => {
    if (!response.writableEnded) gone.abort();
  });
  return gone.signal;
}
