import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { openApi } from '../../src/http/app.ts';

/** As much of an OpenAPI document as the tests look into. */
export interface ApiDocument {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, { enum?: unknown[] }>; responses: Record<string, unknown> };
}

export interface Operation {
  operationId: string;
  'x-role': string;
  security?: unknown[];
  parameters?: Referable<Parameter>[];
  requestBody?: { content: Record<string, unknown> };
  responses: Record<string, Referable<DocumentedAnswer>>;
}

interface Parameter {
  name: string;
  in: string;
}

interface DocumentedAnswer {
  headers?: Record<string, Referable<{ required?: boolean }>>;
  content?: Record<string, { schema?: unknown }>;
}

type Referable<T> = T | { $ref: string };

/**
 * The document as the routes make it: parsing docs/openapi.yaml takes 200 ms in each of a hundred test files, and a test holds
 * that it is the same.
 */
export const apiDocument: ApiDocument = JSON.parse(JSON.stringify(openApi()));

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** Every operation of the document, `GET /api/jobs/{id}`, and where it stands. */
export const operations: {
  method: string;
  path: string;
  pattern: RegExp;
  pointer: string[];
  operation: Operation;
}[] = Object.entries(apiDocument.paths).flatMap(([path, item]) =>
  Object.keys(item)
    .filter((key) => methods.includes(key))
    .map((key) => ({
      method: key.toUpperCase(),
      path,
      pattern: pathPattern(path),
      pointer: ['paths', path, key],
      operation: item[key] as Operation,
    })),
);

const ajv = new Ajv2020({
  allErrors: true,
  strictTypes: false,
  strictRequired: false,
  validateSchema: false,
  meta: false,
});
ajv.addFormat('uuid', /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/);
ajv.addFormat(
  'date-time',
  (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text)),
);
// What an OpenAPI document has around its schemas is no keyword of JSON Schema.
ajv.addVocabulary([...Object.keys(apiDocument), 'content', 'schema', 'headers', 'example']);
ajv.addSchema(apiDocument, 'openapi');
const validators = new Map<string, ValidateFunction>();

/** What is wrong with a value by the schema at `pointer`; empty when it fits. */
export function faultsBySchema(pointer: readonly string[], value: unknown): string[] {
  const escaped = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
  const $ref = `openapi#/${escaped.join('/')}`;
  let validator = validators.get($ref);
  if (validator === undefined) {
    validator = ajv.compile({ $ref });
    validators.set($ref, validator);
  }
  if (validator(value)) return [];
  return (validator.errors ?? []).map(({ instancePath, message, params }) =>
    `${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
  );
}

/** Follow `$ref`, if it is one, and say where it led. */
export function resolved<T extends object>(value: Referable<T>, pointer: string[]): [T, string[]] {
  if (!('$ref' in value) || typeof value.$ref !== 'string') return [value as T, pointer];
  const target = value.$ref.slice('#/'.length).split('/');
  const found = target.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], apiDocument);
  return [found as T, target];
}

export interface Asked {
  method: string;
  url: string;
  /** The body as it was sent. */
  body?: unknown;
  type?: string | null;
}

export interface Answered {
  status: number;
  headers: Headers;
  text: string;
}

/** Headers that mean something to a client: an answer may carry them only where the document says so. */
const telling = ['Location', 'Retry-After', 'Allow', 'WWW-Authenticate', 'ETag'];

/**
 * Hold an answer against docs/openapi.yaml: its status, headers and body; and the request too, when it was accepted.
 * @throws Error that says what does not fit.
 */
export function checkAnswer(asked: Asked, answered: Answered): void {
  const faults = faultsOf(asked, answered);
  if (faults.length === 0) return;
  const shown = answered.text.slice(0, 2_000);
  throw new Error(
    `${asked.method} ${asked.url} → ${answered.status} does not fit docs/openapi.yaml:\n  ${faults.join('\n  ')}\n${shown}`,
  );
}

function faultsOf(asked: Asked, answered: Answered): string[] {
  const { pathname, searchParams } = new URL(asked.url);
  // The pages for browsers are no part of the API.
  if (
    answered.headers.get('content-type')?.startsWith('text/html') &&
    !/^\/(api|metrics)(\/|$)/.test(pathname)
  )
    return [];
  const method = asked.method === 'HEAD' ? 'GET' : asked.method;
  const here = operations.filter(({ pattern }) => pattern.test(pathname));
  const found =
    here.find(({ path, ...one }) => one.method === method && path === pathname) ??
    here.find((one) => one.method === method);
  if (found === undefined) return strayFaults(here.length > 0, asked, answered);
  const { operation, pointer } = found;
  const declared = operation.responses[answered.status];
  if (declared === undefined) return [`the status ${answered.status} is not documented`];
  const [answer, at] = resolved(declared, [...pointer, 'responses', String(answered.status)]);
  const faults = answerFaults(answer, at, asked, answered);
  if (answered.status < 300) faults.push(...requestFaults(found, asked, searchParams));
  return faults;
}

/** Where there is no operation, only these errors may come. */
function strayFaults(isPathKnown: boolean, asked: Asked, answered: Answered): string[] {
  const name = {
    401: 'AuthenticationFailed',
    404: isPathKnown ? undefined : 'NotFound',
    405: 'MethodNotAllowed',
  }[answered.status];
  if (name === undefined) return ['neither path and method nor this answer are documented'];
  const at = ['components', 'responses', name];
  return answerFaults(apiDocument.components.responses[name] as DocumentedAnswer, at, asked, answered);
}

function answerFaults(
  { headers = {}, content = {} }: DocumentedAnswer,
  at: string[],
  { method }: Asked,
  answered: Answered,
): string[] {
  const faults: string[] = [];
  for (const [name, header] of Object.entries(headers)) {
    const [{ required }, place] = resolved(header, [...at, 'headers', name]);
    const value = answered.headers.get(name);
    if (value !== null) {
      faults.push(...faultsBySchema([...place, 'schema'], value).map((fault) => `${name}: ${fault}`));
    } else if (required) faults.push(`the header ${name} is missing`);
  }
  for (const name of telling) {
    if (answered.headers.has(name) && !(name in headers)) faults.push(`the header ${name} is not documented`);
  }
  const type = (answered.headers.get('content-type') ?? '').split(';')[0] ?? '';
  if (Object.keys(content).length === 0)
    return answered.text === '' ? faults : [...faults, 'there is a body'];
  if (!(type in content)) return [...faults, `the type ${type} is not documented`];
  if (method === 'HEAD' || !type.endsWith('json')) return faults;
  // Of NDJSON the document describes a line.
  const texts = type.endsWith('ndjson') ? answered.text.split('\n').slice(0, -1) : [answered.text];
  const schema = [...at, 'content', type, 'schema'];
  return [...faults, ...texts.flatMap((text) => faultsBySchema(schema, JSON.parse(text)))];
}

/** What was accepted must be documented too. */
function requestFaults(
  { path, pointer, operation }: (typeof operations)[number],
  { body, type }: Asked,
  query: URLSearchParams,
): string[] {
  const shared = (apiDocument.paths[path]?.parameters ?? []) as Referable<Parameter>[];
  const known = [...shared, ...(operation.parameters ?? [])].map((one) => resolved(one, [])[0]);
  const faults = [...query.keys()]
    .filter((name) => !known.some((parameter) => parameter.in === 'query' && parameter.name === name))
    .map((name) => `the query parameter ${name} is not documented`);
  if (typeof body !== 'string' || body === '' || operation.requestBody === undefined) return faults;
  const media = type?.split(';')[0] ?? '';
  if (!(media in operation.requestBody.content))
    return [...faults, `the body type ${media} is not documented`];
  if (media !== 'application/json') return faults;
  const at = [...pointer, 'requestBody', 'content', media, 'schema'];
  return [...faults, ...faultsBySchema(at, JSON.parse(body)).map((fault) => `body: ${fault}`)];
}

function pathPattern(path: string): RegExp {
  const escaped = path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/** `fetch`, with the answer held against docs/openapi.yaml. @throws Error when it does not fit. */
export async function checkedFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init);
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  checkAnswer(
    {
      method: init.method ?? 'GET',
      url,
      body: init.body,
      type: new Headers(init.headers).get('content-type'),
    },
    {
      status: response.status,
      headers: response.headers,
      text: isStream ? '' : await response.clone().text(),
    },
  );
  return response;
}
