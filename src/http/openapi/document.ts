import { version } from '../../lib/version.ts';
import { type DocumentedAnswer, type Operation, tags } from '../route.ts';
import { type Component, component, type JsonSchema } from '../shape/shape.ts';
import { requestIdHeader } from './headers.ts';
import { type ProblemName, problemNames, problemResponse } from './problems.ts';

const about = `Send prompts, let workers run them, read the results. Everything is JSON with snake_case names; times are ISO 8601
in UTC with milliseconds, money is in US dollars, durations are in the unit at the end of their name. Unknown body
fields and unknown query parameters are rejected with 400, so that a typing error is never silently ignored. Every
GET route also supports HEAD.

Every request except \`GET /health\` needs \`Authorization: Bearer <key>\`. A path that does not exist returns 404
\`not_found\`, a method that does not exist 405 \`method_not_allowed\` with \`Allow\`; without a valid key both return
401. Errors are problem documents (RFC 9457); programs should use \`code\`.

OpenAPI cannot describe WebSockets: the socket of workers, \`/ws/worker\`, is described in docs/worker-protocol.md, and
that of the dashboard, \`/ws\`, in docs/live-events.md. Only their response to a request without an upgrade is here.
docs/api.md explains all of this with examples.
`;

const keyScheme = {
  type: 'http',
  scheme: 'bearer',
  description:
    'A key has one role. `viewer` reads; `client` also dispatches, cancels and retries; `operator` also steers workers and providers; `admin` also manages keys and configuration. `worker` is separate: the socket of workers and `/api/worker-config`, which `admin` may use too. `x-role` of an operation is the role that it requires.',
};

/** What any route with a key may answer. */
const anyProblems: readonly ProblemName[] = [
  'InvalidRequest',
  'AuthenticationFailed',
  'Forbidden',
  'RateLimited',
  'InternalError',
];
/** What any route with a body may answer. */
const bodyProblems: readonly ProblemName[] = ['RequestTimeout', 'PayloadTooLarge', 'UnsupportedMediaType'];

/** The OpenAPI document of the API, made of what the routes say of themselves. @throws Error as `documentOf`. */
export function apiDocument(operations: readonly Operation[]): JsonSchema {
  return documentOf(
    { title: 'SVC, a job coordinator for language models', about, keyScheme, tags },
    operations.map((operation) => ({ ...operation, responses: responsesOf(operation) })),
    problemNames.map(problemResponse),
  );
}

/** What a document says besides its operations. */
interface DocumentHead {
  title: string;
  about: string;
  keyScheme: JsonSchema;
  /** The groups of operations, with a sentence for each. */
  tags: Readonly<Record<string, string>>;
}

/** An operation whose responses are OpenAPI's already. */
export interface DescribedOperation extends Omit<Operation, 'tag' | 'answers' | 'problems'> {
  tag: string;
  responses: JsonSchema;
}

/**
 * An OpenAPI document. What is referred to goes into its components.
 * @param more components that no operation refers to may be in it.
 * @throws Error when two operations have one name, or two components of one kind are called alike and differ.
 */
export function documentOf(
  { title, about: description, keyScheme: key, tags: groups }: DocumentHead,
  operations: readonly DescribedOperation[],
  more: readonly unknown[] = [],
): JsonSchema {
  const names = operations.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Two operations are called ${twice}`);
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const operation of operations) {
    const path = operation.path.replaceAll(pathParameter, '{$1}');
    paths[path] ??= {};
    paths[path][operation.method.toLowerCase()] = operationObject(operation);
  }
  const components = new Map<string, Component>();
  collect(paths, components);
  collect(more, components);
  return {
    openapi: '3.1.1',
    info: { title, version, license: { name: 'MIT', identifier: 'MIT' }, description },
    servers: [{ url: '/', description: 'The coordinator that serves this document' }],
    security: [{ key: [] }],
    tags: Object.entries(groups).map(([name, sentence]) => ({ name, description: sentence })),
    paths,
    components: { securitySchemes: { key }, ...componentObjects(components) },
  };
}

/** `:name` takes one part of a path, `*name` the rest of it. */
const pathParameter = /[:*](\w+)/g;

function operationObject(operation: DescribedOperation): JsonSchema {
  const { name, role, tag, summary, description, body, responses } = operation;
  const parameters = parametersOf(operation);
  return {
    operationId: name,
    'x-role': role,
    ...(role === 'none' ? { security: [] } : {}),
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: body.isOptional !== true, content: body.content } }),
    responses,
  };
}

function parametersOf({
  name,
  path,
  params = {},
  query = {},
  headers = [],
}: DescribedOperation): JsonSchema[] {
  const inPath = [...path.matchAll(pathParameter)].map(([, param = '']) => {
    const described = params[param];
    if (described === undefined) throw new Error(`${name} does not describe :${param}`);
    return '$ref' in described ? described : { name: param, in: 'path', required: true, ...described };
  });
  const inQuery = Object.entries(query).map(([field, { document }]) => ({
    name: field,
    in: 'query',
    ...document,
  }));
  return [...inPath, ...inQuery, ...headers];
}

/** By status; what a route names itself goes before what any route has. */
function responsesOf({ role, body, answers, problems = [] }: Operation): JsonSchema {
  const own = Object.entries(answers).map(([status, answer]) => [status, answerObject(answer)]);
  const common = role === 'none' ? [] : [...anyProblems, ...(body === undefined ? [] : bodyProblems)];
  const refused = [...common, ...problems].map((name) => {
    const { status, response } = problemResponse(name);
    return [String(status), response];
  });
  // Names that are numbers are in their order.
  return Object.fromEntries([...own, ...refused]);
}

function answerObject({
  description,
  shape,
  type = 'application/json',
  headers,
  examples,
}: DocumentedAnswer) {
  const media = { schema: shape?.schema, ...(examples === undefined ? {} : { examples }) };
  return {
    description,
    headers: { ...requestIdHeader, ...headers },
    ...(shape === undefined ? {} : { content: { [type]: media } }),
  };
}

/** Find every component that something refers to, or that such a component refers to. */
function collect(node: unknown, found: Map<string, Component>): void {
  if (typeof node !== 'object' || node === null) return;
  const held = (node as { [component]?: Component })[component];
  if (held !== undefined) {
    const key = `${held.kind}/${held.name}`;
    const known = found.get(key);
    if (known !== undefined) {
      if (known.value === held.value || JSON.stringify(known.value) === JSON.stringify(held.value)) return;
      throw new Error(`Two components are called ${key}`);
    }
    found.set(key, held);
    collect(held.value, found);
  }
  for (const member of Object.values(node)) collect(member, found);
}

/** By kind and name, in the order of the alphabet. */
function componentObjects(found: ReadonlyMap<string, Component>): JsonSchema {
  const kinds: Record<string, Record<string, JsonSchema>> = {};
  for (const key of [...found.keys()].sort()) {
    const { kind, name, value } = found.get(key) as Component;
    kinds[kind] ??= {};
    kinds[kind][name] = value;
  }
  return kinds;
}
