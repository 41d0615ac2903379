import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import test from 'ava';
import { parse } from 'yaml';
import { errorClasses } from '../../src/domain/failure.ts';
import { roles } from '../../src/domain/key.ts';
import { jobStatuses } from '../../src/domain/states.ts';
import { openApi, routes } from '../../src/http/app.ts';
import { yamlOf } from '../../src/http/openapi/yaml.ts';
import { version } from '../../src/lib/version.ts';
import { setupApi } from '../support/api.ts';
import { type Answered, apiDocument, checkAnswer, faultsBySchema, operations } from '../support/openapi.ts';

const file = new URL('../../docs/openapi.yaml', import.meta.url);

/** What is answered before the router, and so is not among its routes. */
const outsideTheRouter = ['GET /health none'];

test('the document is OpenAPI 3.1', async (t) => {
  const { valid, errors } = await new Validator().validate(structuredClone({ ...apiDocument }));
  t.true(valid, JSON.stringify(errors, null, 2));
  t.is(apiDocument.info.version, version);
});

test('docs/openapi.yaml is what the routes say: after a change run npm run openapi', (t) => {
  const text = readFileSync(file, 'utf8');
  t.true(text === yamlOf(openApi()));
  t.deepEqual(parse(text), { ...apiDocument }, 'readers of YAML get the same');
});

test('every route is in the document with its role, and nothing that does not exist', (t) => {
  const real = routes.map(
    ({ method, path, role }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')} ${role}`,
  );
  const documented = operations.map(
    ({ method, path, operation }) => `${method} ${path} ${operation['x-role']}`,
  );
  t.deepEqual(documented.sort(), [...real, ...outsideTheRouter].sort());
});

test('every operation has a name of its own and tells the errors that any of them may answer', (t) => {
  const names = operations.map(({ operation }) => operation.operationId);
  t.is(new Set(names).size, names.length);
  for (const { method, path, operation } of operations) {
    const statuses = Object.keys(operation.responses);
    const always = operation['x-role'] === 'none' ? [] : ['401', '403', '500'];
    if (always.length > 0 && path !== '/api/worker-config') always.push('429');
    for (const status of always) t.true(statuses.includes(status), `${method} ${path} ${status}`);
    t.deepEqual(operation.security, operation['x-role'] === 'none' ? [] : undefined, `${method} ${path}`);
  }
});

test('the words of the document are those of the code', (t) => {
  const { schemas } = apiDocument.components;
  t.deepEqual(schemas.JobStatus?.enum, [...jobStatuses]);
  t.deepEqual(schemas.Role?.enum, [...roles]);
  t.deepEqual(schemas.ErrorClass?.enum, [...errorClasses]);
});

test('every example of the document fits its schema', (t) => {
  const seen: string[] = [];
  walk(apiDocument, [], (node, at) => {
    const examples = 'example' in node ? { example: { value: node.example } } : (node.examples ?? {});
    if (!('schema' in node) || Array.isArray(examples)) return;
    for (const [name, example] of Object.entries(examples as Record<string, object>)) {
      const value = 'value' in example ? example.value : componentExample(example);
      t.deepEqual(faultsBySchema([...at, 'schema'], value), [], `${at.join(' ')} ${name}`);
      seen.push(name);
    }
  });
  t.true(seen.length > 20);
});

test('GET /api/openapi.json serves it, and 304 to whom has it', async (t) => {
  const { api } = await setupApi(t);
  const { status, json, headers } = await api('GET', '/api/openapi.json');
  t.is(status, 200);
  t.deepEqual(json, JSON.parse(JSON.stringify(apiDocument)));
  const again = { 'if-none-match': headers.get('etag') ?? '' };
  t.is((await api('GET', '/api/openapi.json', undefined, again)).status, 304);
});

test('an answer that is not as documented is noticed', async (t) => {
  const { api, url } = await setupApi(t);
  const reply = await api('GET', '/api/workers/none');
  const asked = { method: 'GET', url: `${url}/api/workers/none` };
  const isNoticed = (changes: Partial<Answered>, message: RegExp, request = asked) =>
    t.throws(() => checkAnswer(request, { ...reply, ...changes }), { message });
  const problem = (changes: object) => ({ text: JSON.stringify({ ...reply.json, ...changes }) });
  const without = (name: string) => {
    const headers = new Headers(reply.headers);
    headers.delete(name);
    return { headers };
  };
  const withHeader = (name: string, value: string) => {
    const headers = new Headers(reply.headers);
    headers.set(name, value);
    return { headers };
  };
  t.notThrows(() => checkAnswer(asked, reply));
  isNoticed({ status: 418 }, /status 418 is not documented/);
  isNoticed(problem({ hint: 'x' }), /additional properties/i);
  isNoticed(problem({ code: 'job_not_found' }), /\/code/);
  isNoticed(without('x-request-id'), /X-Request-Id is missing/);
  isNoticed(withHeader('retry-after', '5'), /Retry-After is not documented/);
  isNoticed(withHeader('content-type', 'application/json'), /type application\/json is not documented/);
  isNoticed({ status: 200 }, /neither/, { method: 'GET', url: `${url}/api/nothing` });

  const listed = await api('GET', '/api/jobs');
  const list = (query: string) => ({ method: 'GET', url: `${url}/api/jobs${query}` });
  t.throws(() => checkAnswer(list('?secret=1'), listed), { message: /parameter secret is not documented/ });
  t.throws(() => checkAnswer(list(''), { ...listed, text: '{"jobs":[],"total":0,"limit":50}' }), {
    message: /offset/,
  });
});

/** Every object of the document with the way to it. */
function walk(
  node: unknown,
  at: string[],
  visit: (node: Record<string, unknown>, at: string[]) => void,
): void {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) visit(node as Record<string, unknown>, at);
  for (const [key, member] of Object.entries(node)) walk(member, [...at, key], visit);
}

function componentExample(reference: object): unknown {
  const name = '$ref' in reference ? String(reference.$ref).split('/').at(-1) : undefined;
  const { examples } = apiDocument.components as unknown as { examples: Record<string, { value: unknown }> };
  return examples[name ?? '']?.value;
}
