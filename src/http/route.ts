import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import Router from '@koa/router';
import type { Middleware, ParameterizedContext } from 'koa';
import { type AuditNote, actorOf, type Doer } from '../domain/audit.ts';
import { CoordinatorError } from '../domain/errors.ts';
import { type Principal, type Role, roleMay } from '../domain/key.ts';
import type { AnswerMemory } from '../lib/answerMemory.ts';
import { clientAddress } from '../lib/clientAddress.ts';
import { isShort } from '../lib/jsonPieces.ts';
import { assertRoom, setChunks, setText } from './answerBody.ts';
import type { KeyedExchange } from './exchange.ts';
import { longAnswer } from './longJson.ts';

/** What a handler sees of a request. */
export interface RouteContext {
  /** `id` in small letters, as ids are made: https://www.rfc-editor.org/rfc/rfc9562#section-4 takes either. */
  params: Record<string, string>;
  query: Record<string, string | string[] | undefined>;
  headers: IncomingHttpHeaders;
  body: unknown;
  /**
   * Give back the memory of a body that is durable. @returns null, or after a long body, whose answer may be as long, a
   * promise that resolves when it is this request's turn to go on.
   */
  bodyTaken(): Promise<void> | null;
  principal: Principal;
  /** Who makes the request, and from where: for the audit log. */
  doer(): Doer;
  /** A signal that is aborted when the client goes before its answer, or its key ends. */
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
  /** Whether it reads a small JSON body, or what reads a larger one or another kind; without this it reads none. */
  body?: 'required' | 'optional' | Middleware;
  handle(request: RouteContext): Promise<Answer> | Answer;
  /** It may end the session that asks, and is answered all the same. */
  outlivesSession?: true;
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

/** What the routes need to know of the service. */
export interface RoutingOptions {
  /** Counts large answers until they are read. */
  answers: AnswerMemory;
  /** See `clientAddress`. */
  trustedProxies: () => number;
  /** Called when a key is refused for its role; the answer waits for it. */
  onRefused: (refusal: Omit<AuditNote, 'outcome'>) => Promise<void>;
}

/**
 * The routes as Koa middleware: checks the role, reads the body where there is one, answers JSON.
 * @throws at start, when a route has no role that exists.
 */
export function routing(routes: readonly Route[], readBody: Middleware, options: RoutingOptions): Middleware {
  // Case counts: a proxy that keeps /api/keys for some must not be passed by /API/keys.
  const router = new Router({ sensitive: true });
  for (const route of routes) {
    if (!(route.role in rolesByName)) throw new Error(`${route.method} ${route.path} declares no role`);
    const handler: Middleware = async (ctx) =>
      'stream' in route ? stream(ctx, route, options) : respond(ctx, route, options);
    const before: Middleware[] = [
      nameRoute(route),
      roleGuard(route, options),
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

function roleGuard({ method, path, role: needed }: Route, options: RoutingOptions): Middleware {
  const target = { kind: 'route', id: `${method} ${path}`, name: null } as const;
  const refuse = async (ctx: ParameterizedContext, role: Role): Promise<never> => {
    const by = doerOf(ctx, options);
    await options.onRefused({ by, action: 'role.refused', target, details: { needs: needed } });
    throw new CoordinatorError(
      'forbidden',
      `A key with the role ${role} may not do this; it needs ${needed}`,
    );
  };
  return (ctx, next) => {
    const { role }: Principal = ctx.state.principal;
    return roleMay(role, needed) ? next() : refuse(ctx, role);
  };
}

const nothingTaken = (): null => null;

function doerOf(ctx: ParameterizedContext, { trustedProxies }: RoutingOptions): Doer {
  const address = clientAddress(ctx.req, trustedProxies());
  return { actor: actorOf(ctx.state.principal), address: address === '' ? null : address };
}

function contextOf(ctx: ParameterizedContext, options: RoutingOptions): RouteContext {
  const { id } = ctx.params;
  const exchange: KeyedExchange = ctx.state.exchange;
  return {
    params: id === undefined ? ctx.params : { ...ctx.params, id: id.toLowerCase() },
    query: ctx.query,
    headers: ctx.headers,
    body: ctx.request.body,
    bodyTaken: ctx.state.bodyTaken ?? nothingTaken,
    principal: ctx.state.principal,
    doer: () => doerOf(ctx, options),
    whenGone: () => exchange.whenGone(),
  };
}

async function respond(ctx: ParameterizedContext, route: JsonRoute, options: RoutingOptions): Promise<void> {
  const { answers } = options;
  // The key may have ended while the body came, or while the answer was waited for: it was answered then.
  if (ctx.res.writableEnded) return;
  assertRoom(ctx, answers);
  if (route.outlivesSession) (ctx.state.exchange as KeyedExchange).handOver();
  const handled = await route.handle(contextOf(ctx, options));
  const answer = 'json' in handled && !isShort(handled.json) ? await longAnswer(handled) : handled;
  if (ctx.res.writableEnded) return;
  ctx.status = answer.status ?? 200;
  if (answer.headers !== undefined) ctx.set(answer.headers);
  ctx.type = 'type' in answer ? answer.type : 'application/json';
  if ('chunks' in answer) setChunks(ctx, answer.chunks, answers);
  else setText(ctx, 'text' in answer ? answer.text : JSON.stringify(answer.json), answers);
}

async function stream(ctx: ParameterizedContext, route: StreamRoute, options: RoutingOptions): Promise<void> {
  const start = await route.stream(contextOf(ctx, options));
  if (ctx.res.writableEnded) return;
  if (start === null || ctx.method === 'HEAD') {
    ctx.status = start === null ? 204 : 200;
    if (start !== null) ctx.type = 'text/event-stream';
    return;
  }
  start(ctx.res);
  // From here on the answer is not Koa's, and ends by itself with the key.
  ctx.respond = false;
  const exchange: KeyedExchange = ctx.state.exchange;
  exchange.handOver();
}

/** Whether a request goes to a route that answers an event stream. */
export function streamPaths(routes: readonly Route[]): (path: string) => boolean {
  const patterns = routes
    .filter((route) => 'stream' in route)
    .map(({ path }) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}/?$`));
  return (path) => patterns.some((pattern) => pattern.test(path));
}
