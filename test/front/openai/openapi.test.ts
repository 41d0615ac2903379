import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { parse } from 'yaml';
import { chatFields } from '../../../src/front/openai/chat/fields.ts';
import { openAiDoor } from '../../../src/front/openai/index.ts';
import { openAiDocument } from '../../../src/front/openai/openapi/document.ts';
import { responseFields } from '../../../src/front/openai/responses/fields.ts';
import { yamlOf } from '../../../src/http/openapi/yaml.ts';
import { version } from '../../../src/lib/version.ts';
import { adminKey } from '../../support/process.ts';
import { hello, openAiHere } from './support.ts';

interface Operation {
  'x-role': string;
  operationId: string;
  responses: Record<string, { $ref?: string }>;
}

interface Document {
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<
      'ChatCompletionRequest' | 'ResponseRequest',
      { properties: Record<string, { 'x-svc': string }>; required: string[] }
    >;
  };
}

const file = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const { routes } = openAiDoor();
const document: Document = JSON.parse(JSON.stringify(openAiDocument(routes)));

/** Routes that do not describe themselves yet. */
const undescribed: string[] = [];
const isDescribed = ({ path }: { path: string }) => !undescribed.some((start) => path.startsWith(start));

test('the document is OpenAPI 3.1, and docs/openai.openapi.yaml is what the routes say: after a change run npm run openapi', async (t) => {
  const { valid, errors } = await new Validator().validate(structuredClone({ ...document }));
  t.true(valid, JSON.stringify(errors, null, 2));
  t.is(document.info.version, version);
  const text = file('docs/openai.openapi.yaml');
  t.true(text === yamlOf(openAiDocument(routes), 'src/front/openai'));
  t.deepEqual(parse(text), { ...document }, 'readers of YAML get the same');
});

test('every route of /v1 describes itself, with its role, under a name of its own', (t) => {
  const real = routes.filter((route) => route.document !== undefined || isDescribed(route));
  const documented = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([method, operation]) => `${method.toUpperCase()} ${path} ${operation['x-role']}`,
    ),
  );
  t.deepEqual(
    documented.sort(),
    real.map(({ method, path, role }) => `${method} ${path.replaceAll(/[:*](\w+)/g, '{$1}')} ${role}`).sort(),
  );
});

for (const { name, fields, schema, required } of [
  {
    name: 'chat completion',
    fields: chatFields,
    schema: 'ChatCompletionRequest',
    required: ['model', 'messages'],
  },
  { name: 'response', fields: responseFields, schema: 'ResponseRequest', required: ['model'] },
] as const)
  test(`what becomes of each field of a ${name} is the same in the parser, the document and docs/openai.md`, (t) => {
    const treatments = Object.entries(fields).map(([field, { treatment }]) => [field, treatment]);
    const described = document.components.schemas[schema];
    t.deepEqual(
      Object.entries(described.properties).map(([field, property]) => [field, property['x-svc']]),
      treatments,
    );
    t.deepEqual(described.required, [...required]);
    const [, section = ''] = file('docs/openai.md').split(`Fields of a ${name}:\n`);
    const [table = ''] = section.split(/\n\n[^|]/);
    const rows = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    const told = rows.flatMap(([, names = '', treatment = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, field]) => [field, treatment.replace(' ', '_')]),
    );
    t.deepEqual(told.sort(), treatments.sort());
  });

for (const [path, type, fields] of [
  ['chat/completions/completions', 'ChatCompletionCreateParamsBase', chatFields],
  ['responses/responses', 'ResponseCreateParamsBase', responseFields],
] as const)
  test(`every field of ${type} that the SDK knows is in the table`, (t) => {
    const types = file(`node_modules/openai/resources/${path}.d.ts`);
    const [, body = ''] = types.split(`interface ${type} {`);
    const [own = ''] = body.split('\n}');
    const known = [...own.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name = '']) => name);
    t.true(known.length > 25);
    t.deepEqual(
      known.filter((name) => !Object.hasOwn(fields, name)),
      [],
    );
  });

/** Hold what a service answers against the document. */
function checker() {
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  ajv.addFormat('date-time', true);
  ajv.addSchema(document, 'openai');
  const pointer = (parts: readonly string[]) =>
    parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  return async (method: string, path: string, response: Response): Promise<string> => {
    const answer = document.paths[path]?.[method.toLowerCase()]?.responses[response.status];
    if (answer === undefined) return `${response.status} is not documented`;
    const place =
      answer.$ref?.slice(2) ??
      pointer(['paths', path, method.toLowerCase(), 'responses', String(response.status)]);
    const check = ajv.compile({ $ref: `openai#/${place}/content/application~1json/schema` });
    return check(await response.json()) ? '' : ajv.errorsText(check.errors);
  };
}

function upload(url: string): Promise<Response> {
  const body = new FormData();
  body.set('purpose', 'batch');
  body.set('file', new Blob(['{}']), 'a.jsonl');
  return fetch(`${url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
    body,
  });
}

test('what /v1 answers fits the document', async (t) => {
  const { url, post } = await openAiHere(t);
  const call = (method: string, path: string, body?: object) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const check = checker();
  const create = '/v1/chat/completions';
  const made = await post({ model: 'echo', store: true, metadata: { a: '1' } });
  const { id } = (await made.clone().json()) as { id: string };
  t.is(await check('POST', create, made), '');
  const uploaded = await upload(url);
  t.is(await check('POST', '/v1/files', uploaded.clone()), '');
  const answered = await call('POST', '/v1/responses', { model: 'echo', input: 'Hi', background: true });
  t.is(await check('POST', '/v1/responses', answered.clone()), '');
  const { id: responseId } = (await answered.json()) as { id: string };
  const response = '/v1/responses/{id}';
  const { id: fileId } = (await uploaded.json()) as { id: string };
  for (const [method, path, asked, body] of [
    ['GET', '/v1/models', '/v1/models'],
    ['GET', '/v1/models/{model}', '/v1/models/echo'],
    ['GET', '/v1/models/{model}', '/v1/models/none/such'],
    ['GET', create, `${create}?metadata[a]=1`],
    ['GET', create, `${create}?limit=0`],
    ['GET', `${create}/{id}`, `${create}/${id}`],
    ['POST', `${create}/{id}`, `${create}/${id}`, { metadata: { b: '2' } }],
    ['POST', `${create}/{id}`, `${create}/${id}`, {}],
    ['POST', create, create, { model: 'none', messages: hello }],
    ['GET', `${create}/{id}/messages`, `${create}/${id}/messages`],
    ['DELETE', `${create}/{id}`, `${create}/${id}`],
    ['DELETE', `${create}/{id}`, `${create}/${id}`],
    ['GET', response, `/v1/responses/${responseId}`],
    ['GET', `${response}/input_items`, `/v1/responses/${responseId}/input_items`],
    ['POST', `${response}/cancel`, `/v1/responses/${responseId}/cancel`],
    ['POST', '/v1/responses', '/v1/responses', { model: 'echo' }],
    ['DELETE', response, `/v1/responses/${responseId}`],
    ['DELETE', response, `/v1/responses/${responseId}`],
    ['GET', '/v1/files', '/v1/files'],
    ['GET', '/v1/files/{id}', `/v1/files/${fileId}`],
    ['DELETE', '/v1/files/{id}', `/v1/files/${fileId}`],
    ['GET', '/v1/files/{id}/content', `/v1/files/${fileId}/content`],
    ['GET', '/v1/openapi.json', '/v1/openapi.json'],
  ] as const)
    t.is(await check(method, path, await call(method, asked, body)), '', `${method} ${asked}`);
});

test('GET /v1/openapi.json serves the document, and 304 to a client that has it', async (t) => {
  const { url } = await openAiHere(t);
  const get = (headers: Record<string, string> = {}) =>
    fetch(`${url}/v1/openapi.json`, { headers: { authorization: `Bearer ${adminKey}`, ...headers } });
  const response = await get();
  t.deepEqual(await response.json(), document);
  t.is((await get({ 'if-none-match': response.headers.get('etag') ?? '' })).status, 304);
});
