import type { IncomingMessage } from 'node:http';
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
import type { RawRequest, Route, ServedRoute, StreamRoute } from './route.ts';

/** What the router needs to know of the service. */
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
 * @param parts what the handlers work with.
 * @throws at start, when a route has no role that exists.
 */
export function routing<P>(
  routes: readonly (Route<P> | ServedRoute<P>)[],
  parts: P,
  options: RoutingOptions,
): Middleware {
  // Case counts: a proxy that keeps /api/keys for some must not be passed by /API/keys.
  const router = new Router({ sensitive: true });
  for (const route of routes) {
    if (!(route.role in rolesByName)) throw new Error(`${route.method} ${route.path} declares no role`);
    const handler: Middleware = async (ctx) =>
      'start' in route ? stream(ctx, route, parts, options) : respond(ctx, route, parts, options);
    const before = [nameRoute(route), roleGuard(route, options), ...bodyReader(route, parts)];
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

function bodyReader<P>({ body }: Pick<Route<P> | ServedRoute<P>, 'body'>, parts: P): Middleware[] {
  if (body === undefined) return [];
  const read = body.reader(parts);
  return body.isOptional === true ? [(ctx, next) => (hasBody(ctx.req) ? read(ctx, next) : next())] : [read];
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
function nameRoute({ path, holdsSecret }: Pick<Route, 'path' | 'holdsSecret'>): Middleware {
  return (ctx, next) => {
    ctx.state.route = path;
    ctx.state.holdsSecret = holdsSecret;
    return next();
  };
}

function roleGuard(
  { method, path, role: needed }: Pick<Route, 'method' | 'path' | 'role'>,
  options: RoutingOptions,
): Middleware {
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

function contextOf(ctx: ParameterizedContext, options: RoutingOptions): RawRequest {
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

async function respond<P>(
  ctx: ParameterizedContext,
  route: ServedRoute<P>,
  parts: P,
  options: RoutingOptions,
): Promise<void> {
  const { answers } = options;
  // The key may have ended while the body came, or while the answer was waited for: it was answered then.
  if (ctx.res.writableEnded) return;
  assertRoom(ctx, answers);
  if (route.outlivesSession) (ctx.state.exchange as KeyedExchange).handOver();
  const handled = await route.answer(contextOf(ctx, options), parts);
  if ('write' in handled) {
    if (ctx.res.writableEnded) return;
    if (handled.headers !== undefined) ctx.set(handled.headers);
    ctx.respond = false;
    handled.write(ctx.res);
    return;
  }
  const answer = 'json' in handled && !isShort(handled.json) ? await longAnswer(handled) : handled;
  if (ctx.res.writableEnded) return;
  ctx.status = answer.status ?? 200;
  if (answer.headers !== undefined) ctx.set(answer.headers);
  ctx.type = 'type' in answer ? answer.type : 'application/json';
  if ('chunks' in answer) setChunks(ctx, answer.chunks, answers);
  else setText(ctx, 'text' in answer ? answer.text : JSON.stringify(answer.json), answers);
}

async function stream<P>(
  ctx: ParameterizedContext,
  route: StreamRoute<P>,
  parts: P,
  options: RoutingOptions,
): Promise<void> {
  const start = await route.start(contextOf(ctx, options), parts);
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
    .filter((route) => 'start' in route)
    .map(({ path }) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}/?$`));
  return (path) => patterns.some((pattern) => pattern.test(path));
}
