import { Agent, request } from 'node:http';
import test from 'ava';
import fc from 'fast-check';
import { jobStatuses } from '../../src/domain/states.ts';
import { type ApiBundle, environmentKey, setupApi } from '../support/api.ts';
import { fuzzOptions, holdsNothingInside, oddText, oddValue, someOf, valuesOf } from '../support/fuzz.ts';
import { operations, resolved } from '../support/openapi.ts';

const runs = 30;

interface Parameter {
  name: string;
  in: string;
  schema?: object;
}

interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** Waits that are over at once: what is tried is the reading of them. */
const waits = fc.constantFrom('0', '0.01', '-1', '301', 'x', '', '1e9');

/** Jobs of which each has a prompt: of those that the schema allows, too many have none and go no further. */
const withPrompt = (value: unknown) => ({ prompt: 'a', provider: 'echo', ...Object(value) });

/** Bodies that get behind the validation, among those that are drawn from the schema. */
function wellFormed(
  path: string,
  drawn: fc.Arbitrary<unknown>,
  ids: readonly string[],
): fc.Arbitrary<unknown> {
  switch (path) {
    case '/api/jobs':
    case '/api/route/explain':
      return drawn.map(withPrompt);
    case '/api/jobs/batch':
      return fc.oneof(
        fc.array(drawn, { minLength: 1, maxLength: 4 }).map((all) => ({ jobs: all.map(jobOfBatch) })),
        drawn,
      );
    case '/api/jobs/cancel':
    case '/api/jobs/retry':
      return fc.oneof(
        fc.subarray([...ids], { minLength: 1 }).map((some) => ({ ids: some })),
        fc.constantFrom(...jobStatuses, 'none').map((status) => ({ filter: { status } })),
        drawn,
      );
    default:
      return drawn;
  }
}

/** What is drawn is a whole batch; its first job, when it has one. */
function jobOfBatch(batch: unknown): unknown {
  const { jobs } = Object(batch) as { jobs?: unknown };
  return withPrompt(Array.isArray(jobs) ? jobs[0] : {});
}

/** Where a plain body must be taken: what is drawn is like it, and mostly refused. */
const plainBodies: Readonly<Record<string, (ids: readonly string[]) => object>> = {
  '/api/jobs': () => ({ prompt: 'a', provider: 'echo' }),
  '/api/jobs/batch': () => ({ jobs: [{ prompt: 'a', provider: 'echo' }] }),
  '/api/jobs/cancel': (ids) => ({ ids: ids.slice(0, 5) }),
  '/api/jobs/retry': (ids) => ({ ids: ids.slice(0, 5) }),
  '/api/route/explain': () => ({ prompt: 'a', provider: 'echo' }),
};

function sentOf(
  { method, path, pointer, operation }: (typeof operations)[number],
  ids: string[],
): fc.Arbitrary<Sent> {
  const parameters = (operation.parameters ?? []).map((one) => resolved<Parameter>(one, pointer)[0]);
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const asked = parameters.filter((one) => one.in === 'query').map(({ name, schema = {} }) => [name, schema]);
  const query = someOf(Object.fromEntries(asked) as Record<string, object>, [], (schema, name) =>
    name === 'wait' ? waits : valuesOf(schema).map(text),
  );
  const [media = '', content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const schema = (content as { schema?: object } | undefined)?.schema;
  const drawn = schema === undefined ? oddValue : valuesOf(schema);
  const json = wellFormed(path, drawn, ids);
  const body =
    content === undefined
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 8, arbitrary: json.map((value) => JSON.stringify(value)) },
          {
            weight: 1,
            arbitrary: json.map((value) => `{"__proto__":${JSON.stringify(value)},"prompt":"a"}`),
          },
          { weight: 1, arbitrary: oddText },
        );
  const id = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: oddText });
  const oddHeaders = fc.record(
    {
      'idempotency-key': fc.string({ maxLength: 20 }).map((key) => encodeURIComponent(key)),
      'content-type': fc.constantFrom('application/json', 'application/x-ndjson', 'text/plain', ''),
      'if-none-match': fc.constantFrom('*', '"a"', 'W/"x"', '"'),
      'last-event-id': fc.constantFrom('0', '-1', 'x', '9'.repeat(30)),
      accept: fc.constantFrom('*/*', 'text/html', 'text/csv', 'x'),
    },
    { requiredKeys: [] },
  );
  const headers = fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: oddHeaders });
  return fc
    .tuple(fc.array(id, { minLength: 2, maxLength: 2 }), query, body, headers)
    .map(([names, asked, sent, more]) => {
      const at = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent((names.pop() ?? '').toWellFormed()));
      const search = Object.entries(asked).map(
        ([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`,
      );
      return {
        method,
        path: search.length === 0 ? at : `${at}?${search.join('&')}`,
        headers: { ...(sent === undefined ? {} : { 'content-type': media }), ...more },
        body: sent,
      };
    });
}

/** The answer; of an event stream its head. */
function answerTo(port: number, agent: Agent, sent: Sent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { method, path, headers, body } = sent;
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const authorization = `Bearer ${environmentKey}`;
    const asked = request(
      { port, host: '127.0.0.1', agent, method, path, headers: { authorization, ...length, ...headers } },
      (response) => {
        const { statusCode: status = 0 } = response;
        const parts: Buffer[] = [];
        const end = () =>
          resolve({ status, text: Buffer.concat(parts).toString() + JSON.stringify(response.headers) });
        if (response.headers['content-type']?.startsWith('text/event-stream') === true) {
          end();
          response.destroy();
          return;
        }
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', end);
        response.on('error', reject);
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

/** Ids of what there is: jobs that run, are stuck and completed, a worker that is connected and one that has gone, a key. */
async function withJobs(bundle: ApiBundle): Promise<string[]> {
  const ids = ['none', '01900000-0000-7000-8000-000000000000', 'job', 'echo'];
  for (let i = 0; i < 4; i += 1) {
    const { json } = await bundle.api('POST', '/api/jobs', { prompt: 'a', provider: 'echo' });
    ids.push(String(json.id));
  }
  const hand = await bundle.worker({ name: 'hand', concurrency: 2 });
  await hand.complete(await hand.job());
  await hand.job(3);
  const gone = await bundle.worker({ name: 'gone' });
  await gone.job();
  gone.drop();
  const { json } = await bundle.api('POST', '/api/keys', { role: 'viewer' });
  return [...ids, hand.id, gone.id, String(json.id)];
}

for (const operation of operations) {
  const { method, path } = operation;
  test(`${method} ${path} answers anything with a status of its own and tells nothing of the inside`, async (t) => {
    const bundle = await setupApi(t, { live: { maxSubscribers: 1_000 } });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    const ids = await withJobs(bundle);
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(sentOf(operation, ids), async (sent) => {
        const { status, text } = await answerTo(bundle.port, agent, sent);
        statuses.add(status);
        if (status < 200 || status >= 500) throw new Error(`${status}: ${text.slice(0, 300)}`);
        if (status >= 400) holdsNothingInside(text);
      }),
      fuzzOptions(runs),
    );
    t.log([...statuses].sort().join());
    const plain = method === 'POST' ? plainBodies[path]?.(ids) : undefined;
    if (plain !== undefined) t.true((await bundle.api(method, path, plain)).status < 300);
    t.is((await bundle.api('GET', '/api/jobs')).status, 200);
  });
}
