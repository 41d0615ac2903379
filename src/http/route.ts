import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Middleware } from 'koa';
import type { Doer } from '../domain/audit.ts';
import type { Principal, Role } from '../domain/key.ts';
import type { ProblemName } from './openapi/problems.ts';
import type { HttpParts } from './parts.ts';
import { type Parameter, type Parameters, Query, type RawQuery, readParameters } from './query.ts';
import type { AnyShape, JsonSchema, Shape } from './shape/shape.ts';

/**
 * A route is one value: where it is, who may use it, what it takes and answers, and what it does. The router reads requests
 * by it, and docs/openapi.yaml is generated from it.
 */

/** The groups of the document, in its order. */
export const tags = {
  Jobs: 'Dispatch, read, cancel, retry.',
  Runs: 'Jobs that belong together under a name, with a budget.',
  Queue: 'Whether waiting jobs are handed out.',
  Routing: 'Which provider a job goes to, and why.',
  Workers: 'The processes that run jobs.',
  Live: 'Events as they happen.',
  Keys: 'Who may do what.',
  Webhooks: 'Who is notified of what happens.',
  Configuration: 'The settings in effect, and reloading them.',
  Cost: 'What was spent, on what.',
  Figures: 'What the coordinator is doing, in numbers.',
  Service: 'Health, and this document.',
} as const;

/** What the document says of one answer. */
export interface DocumentedAnswer {
  description: string;
  /** Of the body, or of one line of NDJSON; without it there is no body. */
  shape?: AnyShape;
  /** JSON unless it says otherwise. */
  type?: string;
  headers?: Readonly<Record<string, JsonSchema>>;
  examples?: Readonly<Record<string, JsonSchema>>;
}

type Answers = Readonly<Record<number, DocumentedAnswer>>;

/** The part of a route that the document shows. */
export interface Operation {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `:name` for what varies. */
  path: string;
  /** Who may use it; `none` needs no key. */
  role: Role | 'none';
  /** The name that generated clients call it by. */
  name: string;
  tag: keyof typeof tags;
  summary: string;
  description?: string;
  /** What each `:name` of the path is. */
  params?: Readonly<Record<string, JsonSchema>>;
  query?: Readonly<Record<string, Pick<Parameter<unknown>, 'document'>>>;
  /** Headers that it reads, as parameter objects. */
  headers?: readonly JsonSchema[];
  body?: DocumentedBody;
  answers: Answers;
  /** The problems that it may answer besides those that every route may. */
  problems?: readonly ProblemName[];
}

export interface DocumentedBody {
  /** It may be left out. */
  isOptional?: boolean;
  /** By media type. */
  content: Readonly<Record<string, JsonSchema>>;
}

/** The parts of the service that read bodies. */
export type BodyParts = Pick<HttpParts, 'uploads' | 'config'>;

/** A body: how it is read, checked, and described. */
export interface Body<B, P = BodyParts> extends DocumentedBody {
  /** Reads it into `ctx.request.body`. */
  reader(parts: P): Middleware;
  /** @param body what was read; undefined when there was none. @throws CoordinatorError invalid_request. */
  parse(body: unknown, parts: P): B | Promise<B>;
}

/** The names that begin with a colon in a path. */
type NamesOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** What the router knows of a request. */
export interface RawRequest {
  /** `id` in lower case, as ids are made: https://www.rfc-editor.org/rfc/rfc9562#section-4 takes either. */
  params: Record<string, string>;
  query: RawQuery;
  headers: IncomingHttpHeaders;
  /** undefined when there was none. */
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

/** What a handler sees of a request. */
export type Request<Path extends string, Q, B> = Omit<RawRequest, 'params' | 'query' | 'body'> & {
  params: Record<NamesOf<Path>, string>;
  query: Q;
  body: B;
};

/** What a handler answers: JSON, a text of another type or a long one in chunks, and 200 unless it says otherwise. */
export type Answer<T = unknown> = {
  status?: number;
  headers?: Record<string, string>;
} & ({ json: T } | TextAnswer);

/** A text, or a text or bytes that nobody holds whole. */
export type TextAnswer =
  | { type: string; text: string }
  | { type: string; chunks: AsyncIterable<string | Buffer> };

/** The handler writes the answer itself, after it has returned. The client's going or the end of its key still ends it. */
export interface OwnAnswer {
  headers?: Record<string, string>;
  write: (response: ServerResponse) => void;
}

/** The types of the documented answers. */
type BodyOf<A> = { [S in keyof A]: A[S] extends { shape: Shape<infer T> } ? T : never }[keyof A];

type Awaitable<T> = T | Promise<T>;

interface Settings<Path extends string, Q, B, P> extends Omit<Operation, 'query'> {
  path: Path;
  role: Role;
  params?: Readonly<Record<NamesOf<Path>, JsonSchema>>;
  /** Without it the route takes no parameters. */
  query?: Parameters<Q>;
  /** Checks that concern several parameters. */
  checkQuery?: (query: NoInfer<Q>, fault: Query['fault']) => void;
  /** Without it no body is read. */
  body?: Body<B, NoInfer<P>>;
}

interface Handled<Path extends string, Q, B, A extends Answers, P> extends Settings<Path, Q, B, P> {
  answers: A;
  /** Its answers hold a secret, and are not compressed. */
  holdsSecret?: true;
  /** It may end the session that asks, and still gets its answer. */
  outlivesSession?: true;
  handle(request: Request<Path, Q, B>, parts: P): Awaitable<Answer<BodyOf<A>>>;
}

interface Streamed<Path extends string, Q> extends Settings<Path, Q, undefined, HttpParts> {
  method: 'GET';
  body?: never;
  /**
   * What throws here is answered as a problem, as everywhere.
   * @returns what takes the answer over, or null when there is nothing to stream: 204.
   */
  stream(
    request: Request<Path, Q, undefined>,
    parts: HttpParts,
  ): Promise<((response: ServerResponse) => void) | null>;
}

/** What the document of a door says of a route, besides its method, path and role. */
export interface DoorOperation extends Pick<Operation, 'name' | 'summary' | 'params' | 'headers'> {
  tag: string;
  description?: string;
  /** Parameter objects by name, without name and place. */
  query?: Readonly<Record<string, JsonSchema>>;
  /** JSON unless `type` says otherwise. */
  body?: { type?: string; schema: JsonSchema };
  /** By status, with a schema for each media type. */
  answers: Readonly<Record<number, { description: string; content?: Readonly<Record<string, JsonSchema>> }>>;
  /** Statuses of errors besides those that every route of the door may answer. */
  errors?: readonly number[];
}

interface Readable<P> extends Operation {
  role: Role;
  holdsSecret?: true;
  body?: DocumentedBody & { reader(parts: P): Middleware };
}

/** What the router needs of a route: all that one of a door has, which docs/openapi.yaml leaves out. */
export interface ServedRoute<P = HttpParts> extends Pick<Operation, 'method' | 'path'> {
  role: Role;
  holdsSecret?: true;
  outlivesSession?: true;
  body?: { isOptional?: boolean; reader(parts: P): Middleware };
  document?: DoorOperation;
  answer(request: RawRequest, parts: P): Awaitable<Answer | OwnAnswer>;
}

/** A route that answers at once. */
export interface JsonRoute<P = HttpParts> extends Readable<P> {
  outlivesSession?: true;
  answer(request: RawRequest, parts: P): Awaitable<Answer>;
}

/** A route that answers an event stream. A browser can send it no key, so it takes a ticket too. */
export interface StreamRoute<P = HttpParts> extends Readable<P> {
  start(request: RawRequest, parts: P): Promise<((response: ServerResponse) => void) | null>;
}

/** A route for the router, which knows nothing of the types of its query and body. */
export type Route<P = HttpParts> = JsonRoute<P> | StreamRoute<P>;

/** A route that answers at once; its handler is given the query and the body as they were declared. */
export function defineRoute<
  const Path extends string,
  const A extends Answers,
  Q extends object = Record<never, never>,
  B = undefined,
  P = HttpParts,
>(settings: Handled<Path, Q, B, A, P>): JsonRoute<P> {
  const { handle, ...operation } = settings;
  const readQuery = queryReader(settings);
  const { body: declared } = settings;
  if (declared === undefined) {
    return {
      ...operation,
      answer: (raw, parts) => handle(requestOf<Path, Q, B>(raw, readQuery(raw), undefined as B), parts),
    };
  }
  return {
    ...operation,
    answer: (raw, parts) => {
      const query = readQuery(raw);
      const body = declared.parse(raw.body, parts);
      if (!(body instanceof Promise)) return handle(requestOf<Path, Q, B>(raw, query, body), parts);
      return body.then((parsed) => handle(requestOf<Path, Q, B>(raw, query, parsed), parts));
    },
  };
}

/** A route that answers an event stream. */
export function defineStream<const Path extends string, Q extends object>(
  settings: Streamed<Path, Q>,
): StreamRoute {
  const { stream, ...operation } = settings;
  const readQuery = queryReader(settings);
  return {
    ...operation,
    start: (raw, parts) => stream(requestOf<Path, Q, undefined>(raw, readQuery(raw), undefined), parts),
  };
}

function queryReader<Q extends object>({
  query: parameters,
  checkQuery,
}: Pick<Settings<string, Q, unknown, never>, 'query' | 'checkQuery'>): (raw: RawRequest) => Q {
  return (raw) => {
    const query = new Query(raw.query);
    // Without parameters Q has no members.
    const values = parameters === undefined ? ({} as Q) : readParameters(parameters, query);
    checkQuery?.(values, (field, message) => query.fault(field, message));
    query.done();
    return values;
  };
}

/** The names of the path are those that the router has filled in. */
function requestOf<Path extends string, Q, B>(raw: RawRequest, query: Q, body: B): Request<Path, Q, B> {
  return Object.assign(raw, { params: raw.params as Record<NamesOf<Path>, string>, query, body });
}
