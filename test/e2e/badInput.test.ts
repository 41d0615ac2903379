import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import type { WireJob, WireJobList } from '../../src/domain/wire/job.ts';
import { depth } from '../support/depth.ts';
import {
  type Asked,
  answerTo,
  connections,
  exchange,
  type HttpAnswer,
  problemOf,
} from '../support/e2eHttp.ts';
import { completeFrame, hello, WorkerSocket } from '../support/e2eWorker.ts';
import {
  adminKey,
  calmed,
  type Running,
  sharedCoordinator,
  startCoordinator,
  within,
} from '../support/process.ts';

/** Nobody beats here, and nobody is missed. */
const config = { jobs: { heartbeat_interval_seconds: 60, reap_stale_after_seconds: 0 } };
const deep = 100_000;
const mebibyte = 1024 * 1024;
const json = { 'content-type': 'application/json' };

const shared = sharedCoordinator({ config });

interface Calm extends Running {
  /** What earlier tests have left. */
  jobsBefore?: number;
}

async function totalOf(port: number): Promise<number> {
  return ((await answerTo(port, { path: '/api/jobs' })).json as WireJobList).total;
}

/** The coordinator of the file, in which no job waits or runs. */
async function calm(): Promise<Calm> {
  const running = await calmed(shared());
  return { ...running, jobsBefore: await totalOf(running.port) };
}

/** Nothing of all that is a bug of the coordinator's: it lives, it has no job of it, and its log has no stack. */
async function unharmed(
  t: ExecutionContext,
  { port, process, jobsBefore = 0 }: Calm,
  jobs = 0,
): Promise<void> {
  t.is((await totalOf(port)) - jobsBefore, jobs);
  t.is(process.exit, null);
  t.notRegex(process.out, /"stack":|\\n {4}at |internal error/);
  t.notRegex(process.err, /^\s+at /m);
}

function post(port: number, body: string | Buffer, more: Partial<Asked> = {}): Promise<HttpAnswer> {
  return answerTo(port, { method: 'POST', path: '/api/jobs', body, ...more });
}

function dispatch(fields: object): string {
  return JSON.stringify({ prompt: 'Say hello', provider: 'echo', ...fields });
}

/** A small body that becomes far larger than any may be. */
function bombOf(): Buffer {
  return gzipSync(dispatch({ input: 'x'.repeat(depth(40, 200) * mebibyte) }), { level: 1 });
}

function nested(open: string, close: string): string {
  return open.repeat(deep) + close.repeat(deep);
}

const lists = nested('[', ']');
const objects = nested('{"a":', '}').replace(':}', ':1}');

/** A head of a request that says all that is needed, and ends the connection. */
function head(line: string, ...fields: string[]): string {
  const usual = ['Host: 127.0.0.1', `Authorization: Bearer ${adminKey}`, 'Connection: close'];
  return `${[line, ...usual, ...fields].join('\r\n')}\r\n\r\n`;
}

test.serial('bodies that are no job are 400, each with a field where there is one', async (t) => {
  const coordinator = await calm();
  const { port } = coordinator;
  const noJson = [
    '{',
    '{"prompt":',
    'null',
    '3',
    '"text"',
    '[]',
    '',
    '{"prompt": "a"} trailing',
    '\u0000',
    '{"a":1,}',
  ];
  for (const body of noJson) {
    const answer = await post(port, body);
    t.is(answer.status, 400, body);
    t.is(problemOf(answer).code, 'invalid_request', body);
  }
  t.is((await post(port, Buffer.from([0xff, 0xfe, 0x7b, 0x22]))).status, 400);
  const wrong: [string, object][] = [
    ['prompt', { prompt: 7 }],
    ['prompt', { prompt: '' }],
    ['prompt', { prompt: null }],
    ['prompt', { prompt: ['a'] }],
    ['input', { input: { a: 1 } }],
    ['provider', { provider: true }],
    ['provider', { provider: '' }],
    ['provider', { provider: 'x'.repeat(201) }],
    ['model', { model: 3 }],
    ['priority', { priority: 'urgent!' }],
    ['priority', { priority: '__proto__' }],
    ['priority', { priority: 'constructor' }],
    ['tags', { tags: 'one' }],
    ['tags', { tags: ['a', 'a'] }],
    ['tags[1]', { tags: ['a', 4] }],
    ['params', { params: [] }],
    ['params', { params: 'no' }],
    ['metadata.n', { metadata: { n: 1 } }],
    ['metadata', { metadata: 'no' }],
    ['timeout_seconds', { timeout_seconds: -1 }],
    ['timeout_seconds', { timeout_seconds: '5' }],
    ['not_before', { not_before: 'tomorrow' }],
    ['not_before', { not_before: 5 }],
    ['messages', { prompt: undefined, messages: [] }],
    ['messages[0].role', { prompt: undefined, messages: [{ content: 'a' }] }],
    ['typo', { typo: 1 }],
  ];
  for (const [field, fields] of wrong) {
    const answer = await post(port, dispatch(fields));
    t.is(answer.status, 400, dispatch(fields));
    const { code, errors = [] } = problemOf(answer);
    t.is(code, 'invalid_request');
    t.true(
      errors.some((error) => error.field === field),
      `${field}: ${JSON.stringify(errors)}`,
    );
  }
  t.is(
    (await post(port, '{"prompt":"a","provider":"echo","not_before":"+275760-09-14T00:00:00Z"}')).status,
    400,
  );
  await unharmed(t, coordinator);
});

// 1e999 is valid JSON and reads as Infinity, which yup's number() takes.
test.serial('a number beyond all bounds is 400', async (t) => {
  const coordinator = await calm();
  const answer = await post(coordinator.port, '{"prompt":"a","provider":"echo","timeout_seconds":1e999}');
  t.is(answer.status, 400);
  await unharmed(t, coordinator);
});

test.serial(
  'bodies that are too large are 413, also without a content-length and also when they were small',
  async (t) => {
    const coordinator = await startCoordinator(t, {
      config: { ...config, http: { max_body_bytes: mebibyte } },
    });
    const { port } = coordinator;
    const large = dispatch({ input: 'x'.repeat(2 * mebibyte) });
    const said = await post(port, large);
    t.is(said.status, 413);
    t.is(problemOf(said).code, 'payload_too_large');

    const chunk = 'x'.repeat(0x10000);
    const chunks = `10000\r\n${chunk}\r\n`.repeat(40);
    const chunked = head(
      'POST /api/jobs HTTP/1.1',
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    );
    t.is((await exchange(port, `${chunked}${chunks}0\r\n\r\n`)).status, 413);

    const bomb = bombOf();
    t.true(bomb.length < mebibyte);
    t.is((await post(port, bomb, { headers: { ...json, 'content-encoding': 'gzip' } })).status, 413);

    // Announced and never sent: refused before it comes.
    const announced = head(
      'POST /api/jobs HTTP/1.1',
      'Content-Type: application/json',
      'Content-Length: 99999999999',
    );
    t.is((await exchange(port, announced)).status, 413);
    await unharmed(t, coordinator);
  },
);

test.serial('a connection on which a body was refused answers the next request, or is closed', async (t) => {
  const coordinator = await startCoordinator(t, {
    config: { ...config, http: { max_body_bytes: mebibyte } },
  });
  const { port } = coordinator;
  const agent = connections(1);
  t.teardown(() => agent.destroy());
  const bomb = bombOf();
  const asked = { agent, headers: { ...json, 'content-encoding': 'gzip' } };
  for (let i = 0; i < depth(2, 4); i += 1) {
    t.is((await post(port, bomb, asked)).status, 413);
    const next = answerTo(port, { path: '/api/jobs', agent });
    t.is((await within('the next request on the connection is answered', next, 3_000)).status, 200);
  }
});

test.serial('content types and encodings that nobody reads are 415 or 400', async (t) => {
  const coordinator = await calm();
  const { port } = coordinator;
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/xml',
    'json',
    '*/*',
  ]) {
    const answer = await post(port, dispatch({}), { headers: { 'content-type': type } });
    t.is(answer.status, 415, type);
    t.is(problemOf(answer).code, 'unsupported_media_type', type);
  }
  const encoded = (encoding: string, body: Buffer) =>
    post(port, body, { headers: { ...json, 'content-encoding': encoding } });
  t.is((await encoded('zstd-or-so', Buffer.from(dispatch({})))).status, 415);
  t.is((await encoded('gzip', Buffer.from(dispatch({})))).status, 400);
  t.is((await encoded('gzip', gzipSync(dispatch({})).subarray(0, 30))).status, 400);
  t.is((await answerTo(port, { method: 'POST', path: '/api/jobs' })).status, 400);
  await unharmed(t, coordinator);
  t.is((await encoded('gzip', gzipSync(dispatch({})))).status, 201);
  t.is(
    (await post(port, dispatch({}), { headers: { 'content-type': 'application/json; charset=utf-8' } }))
      .status,
    201,
  );
});

// JSON.parse takes any depth; JSON.stringify and yup's messages recurse and overflow the stack.
test.serial('JSON of 100,000 levels is 400, wherever it stands', async (t) => {
  const coordinator = await calm();
  for (const [place, body] of [
    ['the body', lists],
    ['the body, of objects', objects],
    ['an unknown field', `{"prompt":"a","provider":"echo","typo":${lists}}`],
    ['tags', `{"prompt":"a","provider":"echo","tags":${lists}}`],
    ['metadata', `{"prompt":"a","provider":"echo","metadata":${objects}}`],
    ['params', `{"prompt":"a","provider":"echo","params":{"a":${lists}}}`],
    ['params, of objects', `{"prompt":"a","provider":"echo","params":${objects}}`],
    ['a message', `{"messages":[{"role":"user","content":${lists}}],"provider":"echo"}`],
  ] as const) {
    const answer = await post(coordinator.port, body);
    t.is(answer.status, 400, `${place}: ${answer.text.slice(0, 300)}`);
    t.true(answer.text.length < 2_000, place);
  }
  await unharmed(t, coordinator);
});

const ownNames = ['constructor', 'toString', 'hasOwnProperty', 'prototype', '__proto__'];

test.serial('names of what every object has are keys like others, but for __proto__', async (t) => {
  const coordinator = await calm();
  const { port } = coordinator;
  for (const name of ownNames) {
    t.is((await post(port, `{"prompt":"a","provider":"echo","${name}":{"x":1}}`)).status, 400, name);
    t.is((await answerTo(port, { path: `/api/jobs?${name}=1` })).status, 400, name);
    t.is((await answerTo(port, { path: `/api/jobs/${name}` })).status, 404, name);
  }
  for (const field of ['params', 'metadata']) {
    t.is((await post(port, `{"prompt":"a","provider":"echo","${field}":{"__proto__":"a"}}`)).status, 400);
  }
  await unharmed(t, coordinator);
  const keys = ownNames.filter((name) => name !== '__proto__');
  for (const name of keys) {
    const own = `{"${name}":"polluted"}`;
    const answer = await post(port, `{"prompt":"a","provider":"echo","params":${own},"metadata":${own}}`);
    t.is(answer.status, 201, answer.text);
    const seen = await answerTo(port, { path: `/api/jobs/${(answer.json as WireJob).id}` });
    t.true(seen.text.includes(`"params":${own}`), seen.text);
    t.true(seen.text.includes(`"metadata":${own}`), seen.text);
  }
  await unharmed(t, coordinator, keys.length);
});

for (const model of [undefined, 'a-model']) {
  // Where a worker advertises no models, a plain `models[provider]` would find what every object has.
  test.serial(
    `such names are names of providers and tags like others, with ${model ?? 'no model'}`,
    async (t) => {
      const coordinator = await startCoordinator(t, { config });
      const { port } = coordinator;
      const worker = await WorkerSocket.join(t, coordinator.url, {
        providers: ownNames,
        concurrency: ownNames.length,
      });
      for (const [i, name] of ownNames.entries()) {
        const answer = await post(port, dispatch({ provider: name, model, tier: name, tags: [name] }));
        t.is(answer.status, 201, answer.text);
        worker.complete(await worker.job(i + 1));
        await worker.frame('ack', i + 1);
        const list = await answerTo(port, {
          path: `/api/jobs?provider=${name}&status=completed&tag=${name}`,
        });
        t.is((list.json as WireJobList).total, 1, name);
      }
      await unharmed(t, coordinator, ownNames.length);
      await coordinator.process.kill();
      await unharmed(t, await coordinator.again(), ownNames.length);
    },
  );
}

test.serial('paths and methods that are none get a status of their own', async (t) => {
  const coordinator = await calm();
  const { port } = coordinator;
  const missing = [
    '/api/jobs/%E0%A4%A',
    '/api/jobs/%',
    '/api/jobs/%00',
    '/api/jobs/..%2f..%2fetc',
    '/api//jobs',
    '/api/jobs/a/b/c',
    '//evil.example/api/jobs',
    '/api/jobs/%F0%9F%A6%8A',
    `/api/jobs/${'x'.repeat(8_000)}`,
  ];
  for (const path of missing) {
    const answer = await answerTo(port, { path });
    t.is(answer.status, 404, path);
    t.regex(problemOf(answer).code, /not_found$/, path);
  }
  for (const query of [
    'status=%zz',
    'limit=0',
    'limit=1001',
    'limit=1e2',
    'limit=-1',
    'offset=x',
    'limit=1&limit=2',
    'created_after=soon',
    'status=',
    'include=everything',
    'nonsense=1',
  ]) {
    const answer = await answerTo(port, { path: `/api/jobs?${query}` });
    t.is(answer.status, 400, query);
    t.is(problemOf(answer).code, 'invalid_request', query);
  }
  t.is((await exchange(port, head(`GET /${'x'.repeat(100_000)} HTTP/1.1`))).status, 431);
  for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND']) {
    const answer = await answerTo(port, { method, path: '/api/jobs' });
    t.is(answer.status, 405, method);
    t.is(problemOf(answer).code, 'method_not_allowed');
    t.regex(String(answer.headers.allow), /GET.*POST|POST.*GET/);
  }
  const heads = await answerTo(port, { method: 'HEAD', path: '/api/jobs' });
  t.is(heads.status, 200);
  t.is(heads.text, '');
  t.is((await answerTo(port, { method: 'HEAD', path: '/health' })).status, 200);
  t.is((await exchange(port, head('BREW /api/jobs HTTP/1.1'))).status, 400);
  t.is((await exchange(port, head('GET /api/jobs HTTP/9.9'))).status, 400);
  t.is((await exchange(port, 'no request at all\r\n\r\n')).status, 400);
  await unharmed(t, coordinator);
});

test.serial('tricks with headers are refused or ignored, and no key is let through by them', async (t) => {
  const coordinator = await calm();
  const { port } = coordinator;
  const body = dispatch({});
  const length = `Content-Length: ${body.length}`;
  const smuggled: string[][] = [
    [length, 'Transfer-Encoding: chunked'],
    [length, 'Content-Length: 3'],
    ['Content-Length: -1'],
    ['Content-Length: 5, 6'],
    ['Transfer-Encoding: chunked, identity'],
    [length, 'X-Odd: a\u0000b'],
    [length, 'X Odd: a'],
  ];
  for (const fields of smuggled) {
    const sent = head('POST /api/jobs HTTP/1.1', 'Content-Type: application/json', ...fields);
    t.is((await exchange(port, sent + body)).status, 400, fields.join());
  }
  const many = Array.from({ length: 3_000 }, (_, i) => `X-Many-${i}: a`);
  t.is((await exchange(port, head('GET /api/jobs HTTP/1.1', ...many))).status, 431);
  t.is((await exchange(port, head('GET /api/jobs HTTP/1.1', 'Expect: a-miracle'))).status, 417);

  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    `Basic ${adminKey}`,
    `Bearer ${adminKey}x`,
    'Bearer svc_admin_x_y',
    `Bearer ${'x'.repeat(10_000)}`,
    `Bearer ${adminKey} ${adminKey}`,
  ]) {
    const answer = await answerTo(port, { path: '/api/jobs', headers: { authorization } });
    t.is(answer.status, 401, authorization);
    t.is(problemOf(answer).code, 'authentication_failed');
    t.is(answer.headers['www-authenticate'], 'Bearer');
  }
  const marked = await answerTo(port, { path: '/api/jobs', headers: { 'x-request-id': 'a"b<script>' } });
  t.notRegex(String(marked.headers['x-request-id']), /script/);
  for (const headers of [
    { 'x-http-method-override': 'DELETE' },
    { 'x-forwarded-host': 'evil.example' },
    { 'x-original-url': '/api/keys' },
  ]) {
    t.is((await answerTo(port, { path: '/api/jobs', headers })).status, 200);
  }
  await unharmed(t, coordinator);
});

test.serial('a client that offers HTTP/2 over an upgrade is answered over HTTP/1.1', async (t) => {
  const coordinator = await calm();
  // Java's HttpClient offers it with every request, and curl with --http2; RFC 9110, 7.8: a server may ignore it.
  const offer = [
    'GET /health HTTP/1.1',
    'Host: 127.0.0.1',
    'Connection: Upgrade, HTTP2-Settings, close',
    'Upgrade: h2c',
    'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
  ];
  const { status } = await exchange(coordinator.port, `${offer.join('\r\n')}\r\n\r\n`);
  t.is(status, 200);
});

test.serial('requests that end in the middle leave nothing', async (t) => {
  const coordinator = await calm();
  const { port } = coordinator;
  const half = head('POST /api/jobs HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 1000');
  for (let i = 0; i < 20; i += 1) {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve) => {
      socket.on('error', () => {});
      socket.on('close', () => resolve());
      socket.write(`${half}${dispatch({}).slice(0, 20)}`, () => socket.resetAndDestroy());
    });
  }
  await unharmed(t, coordinator);
});

test.serial(
  'the first frame of a worker must be a hello of the right form; else 4400 with the reason',
  async (t) => {
    const coordinator = await calm();
    const { total: before } = await coordinator.client.workers();
    const good = hello({ name: 'first' });
    const firsts: [string, string | Buffer][] = [
      ['garbage', 'garbage'],
      ['an empty frame', ''],
      ['half a frame', '{"type":"hello"'],
      ['a list', '[]'],
      ['null', 'null'],
      ['no type', '{}'],
      ['an unknown type', '{"type":"greetings"}'],
      ['a type that every object has', '{"type":"constructor"}'],
      ['binary', Buffer.from(JSON.stringify(good))],
      ['binary garbage', Buffer.from([0, 1, 2, 255])],
      ['a heartbeat', '{"type":"heartbeat","running":[]}'],
      ['a complete', JSON.stringify(completeFrame({ job_id: 'a', lease: 1 }, 'hello'))],
      ...[
        { name: '' },
        { name: 7 },
        { name: 'x'.repeat(201) },
        { name: null },
        { name: ' \t' },
        { name: 'a\nb' },
        { kind: 'human' },
        { providers: [] },
        { providers: 'echo' },
        { providers: [''] },
        { providers: [7] },
        { concurrency: -1 },
        { concurrency: 1.5 },
        { concurrency: '4' },
        { concurrency: 1e9 },
        { models: [] },
        { models: { echo: 'all' } },
        { models: { constructor: [7] } },
        { tags: 'gpu' },
        { version: 3 },
        { running: {} },
        { running: [{ job_id: 'a' }] },
        { running: [{ job_id: 'a', lease: 0 }] },
        { running: [{ job_id: 5, lease: 1 }] },
      ].map((fields): [string, string] => [JSON.stringify(fields), JSON.stringify({ ...good, ...fields })]),
    ];
    for (const [what, data] of firsts) {
      const worker = await WorkerSocket.open(t, coordinator.url);
      worker.raw(data);
      const error = await worker.frame('error');
      t.is(error.code, 'bad_frame', what);
      t.true(error.message.length > 0 && error.message.length < 2_000, what);
      t.is((await worker.ended).code, 4400, what);
    }
    t.is((await coordinator.client.workers()).total, before);
    await unharmed(t, coordinator);
  },
);

for (const [place, frame] of [
  ['the name of a hello', `{"type":"hello","name":${lists}}`],
  ['the models of a hello', JSON.stringify(hello()).replace('}', `,"models":${objects}}`)],
] as const) {
  test.serial(`a frame of 100,000 levels is a bad frame and harms nobody: ${place}`, async (t) => {
    const coordinator = await calm();
    const worker = await WorkerSocket.open(t, coordinator.url);
    worker.raw(frame);
    t.is((await worker.ended).code, 4400);
    await unharmed(t, coordinator);
  });
}

// usage and latency end up in results and in the cost buckets, which stay for ever.
test.serial('counts that no count can be are bad frames', async (t) => {
  const coordinator = await calm();
  const worker = await WorkerSocket.join(t, coordinator.url);
  const start = '{"type":"complete","job_id":"a","lease":1,"result":{"output":"a",';
  for (const [i, rest] of ['"usage":{"input_tokens":1e300}}}', '"latency_ms":1e999}}'].entries()) {
    worker.raw(start + rest);
    t.is((await worker.frame('error', i + 1)).code, 'bad_frame');
    t.is(worker.of('ack').length, 0);
  }
});

test.serial(
  'bad frames after the hello are told one by one, and the fifth ends the connection',
  async (t) => {
    const coordinator = await calm();
    const worker = await WorkerSocket.join(t, coordinator.url);
    const bad: (string | Buffer)[] = [
      JSON.stringify(hello()),
      Buffer.from('binary'),
      'garbage',
      '{"type":"complete","job_id":"a","lease":1}',
      '{"type":"fail","job_id":"a","lease":1,"error":{"class":"a mood","message":""}}',
    ];
    for (const [i, data] of bad.entries()) {
      worker.raw(data);
      t.is((await worker.frame('error', i + 1)).code, 'bad_frame');
    }
    t.is((await worker.ended).code, 1008);
    await unharmed(t, coordinator);
  },
);

test.serial('a frame of 20 MiB ends the connection, and a coordinator of that size stays well', async (t) => {
  const coordinator = await calm();
  const worker = await WorkerSocket.join(t, coordinator.url);
  worker.raw(JSON.stringify(completeFrame({ job_id: 'a', lease: 1 }, 'x'.repeat(20 * mebibyte))));
  t.is((await worker.ended).code, 1009);
  await unharmed(t, coordinator);
});

test.serial('frames about jobs that are not the worker’s change nothing and say why', async (t) => {
  const coordinator = await calm();
  const owner = await WorkerSocket.join(t, coordinator.url);
  const stranger = await WorkerSocket.join(t, coordinator.url, { providers: ['other'] });
  const { id } = (await post(coordinator.port, dispatch({}))).json as WireJob;
  const job = await owner.job();
  const foreign = { job_id: id, lease: 1 };
  const unknown = { job_id: '01900000-0000-7000-8000-000000000000', lease: 1 };
  const later = { job_id: id, lease: 2 };
  const odd = { job_id: '__proto__', lease: 1 };
  const cases = [
    [foreign, 'not_yours'],
    [unknown, 'unknown_job'],
    [later, 'lease_lost'],
    [odd, 'unknown_job'],
  ] as const;
  let acks = 0;
  for (const [lease, reason] of cases) {
    const error = { class: 'server_error', message: 'no' } as const;
    for (const frame of [
      completeFrame(lease, 'stolen'),
      { type: 'fail', ...lease, error },
      { type: 'aborted', ...lease },
      { type: 'release', ...lease },
    ] as const) {
      acks += 1;
      stranger.send(frame);
      t.like(
        await stranger.frame('ack', acks),
        { ...lease, accepted: false, reason },
        `${frame.type} ${reason}`,
      );
    }
    stranger.send({ type: 'chunk', ...lease, seq: 0, text: 'stolen' });
  }
  stranger.send({ type: 'heartbeat', running: [foreign, unknown, later, odd] });
  t.deepEqual((await stranger.frame('heartbeat_ack')).lost, [foreign, unknown, later, odd]);
  t.is((await coordinator.client.job(id)).status, 'running');
  owner.complete(job, 'mine');
  t.like(await owner.frame('ack'), { accepted: true });
  t.like((await coordinator.client.job(id)).result, { output: 'mine' });
  await unharmed(t, coordinator, 1);
});

test.serial('upgrades that are refused say why with a status', async (t) => {
  const { port } = await calm();
  const upgrade = (path: string, ...fields: string[]) =>
    exchange(
      port,
      `${[`GET ${path} HTTP/1.1`, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', ...fields].join('\r\n')}\r\n\r\n`,
    );
  const host = 'Host: 127.0.0.1';
  const key = `Authorization: Bearer ${adminKey}`;
  t.is((await upgrade('/ws/worker', host)).status, 401);
  t.is((await upgrade('/ws/worker', host, 'Authorization: Bearer nonsense')).status, 401);
  t.is((await upgrade('/ws/worker', host, key, 'Origin: http://evil.example')).status, 403);
  t.is((await upgrade('/ws/worker', 'Host: evil.example', key)).status, 403);
  t.is((await upgrade('/ws/worker', 'Host: [', key)).status, 403);
  t.is((await upgrade('/ws/nothing', host, key)).status, 404);
  t.is((await upgrade('/ws/%', host, key)).status, 404);
});
