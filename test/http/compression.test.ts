import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import test from 'ava';
import { type ApiBundle, environmentKey, setupApi } from '../support/api.ts';

interface Plain {
  status: number;
  headers: IncomingMessage['headers'];
  bytes: Buffer;
}

/** A request whose answer stays as it came. */
function ask(
  { port }: ApiBundle,
  path: string,
  encoding: string | null,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Plain> {
  return new Promise((resolve, reject) => {
    const accept = encoding === null ? {} : { 'accept-encoding': encoding };
    const own = { authorization: `Bearer ${environmentKey}`, ...accept, ...headers };
    request({ host: '127.0.0.1', port, path, method, headers: own }, (response) => {
      buffer(response).then((bytes) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes });
      }, reject);
    })
      .once('error', reject)
      .end();
  });
}

test('a large answer is compressed as the client asks, by its weights', async (t) => {
  const bundle = await setupApi(t);
  const plain = await ask(bundle, '/api/openapi.json', null);
  t.is(plain.headers['content-encoding'], undefined);
  t.is(plain.headers.vary, 'Accept-Encoding');
  const wanted: [encoding: string, got: string | undefined][] = [
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip;q=0.5, br', 'br'],
    ['gzip, br;q=0.5', 'gzip'],
    ['gzip;q=0, br;q=0', undefined],
    ['identity', undefined],
    ['identity, gzip;q=0.5', undefined],
    ['deflate, zstd', undefined],
    ['*', 'br'],
  ];
  for (const [encoding, got] of wanted) {
    const { headers, bytes } = await ask(bundle, '/api/openapi.json', encoding);
    t.is(headers['content-encoding'], got, encoding);
    t.is(headers.vary, 'Accept-Encoding');
    const text = got === 'gzip' ? gunzipSync(bytes) : got === 'br' ? brotliDecompressSync(bytes) : bytes;
    t.true(text.equals(plain.bytes), encoding);
    if (got !== undefined) t.true(bytes.length * 4 < plain.bytes.length, `${bytes.length} bytes`);
  }
});

test('HEAD says what GET would, and has no body', async (t) => {
  const bundle = await setupApi(t);
  for (const encoding of ['gzip', 'br', 'identity']) {
    const get = await ask(bundle, '/api/openapi.json', encoding);
    const head = await ask(bundle, '/api/openapi.json', encoding, { method: 'HEAD' });
    t.is(head.status, 200);
    t.is(head.bytes.length, 0);
    for (const name of ['content-encoding', 'content-type', 'vary', 'etag', 'content-length']) {
      t.is(head.headers[name], get.headers[name], `${name} for ${encoding}`);
    }
  }
});

test('the compressed form has a weak ETag, which is as good as the strong one', async (t) => {
  const bundle = await setupApi(t);
  const [plain, compressed] = [
    await ask(bundle, '/api/openapi.json', null),
    await ask(bundle, '/api/openapi.json', 'gzip'),
  ];
  t.is(compressed.headers.etag, `W/${plain.headers.etag}`);
  for (const etag of [plain.headers.etag, compressed.headers.etag]) {
    const again = await ask(bundle, '/api/openapi.json', 'gzip', {
      headers: { 'if-none-match': etag ?? '' },
    });
    t.is(again.status, 304);
  }
});

test('an export is compressed on the way, and its lines come as they are made', async (t) => {
  const bundle = await setupApi(t);
  const prompt = 'Summarise this. '.repeat(50);
  const jobs = Array.from({ length: 500 }, () => ({ prompt, provider: 'echo' }));
  t.is((await bundle.api('POST', '/api/jobs/batch', { jobs })).status, 201);
  const plain = await ask(bundle, '/api/jobs/export', null);
  const { headers, bytes } = await ask(bundle, '/api/jobs/export', 'gzip');
  t.is(headers['content-encoding'], 'gzip');
  t.true(gunzipSync(bytes).equals(plain.bytes));
  t.true(bytes.length * 4 < plain.bytes.length);
});

test('what is short, holds a secret or is an event stream is sent as it is', async (t) => {
  const bundle = await setupApi(t);
  const name = 'n'.repeat(200);
  for (let i = 0; i < 10; i += 1) await bundle.api('POST', '/api/keys', { role: 'viewer', name });
  const keys = await ask(bundle, '/api/keys', 'gzip');
  t.true(keys.bytes.length > 1024);
  t.is(keys.headers['content-encoding'], undefined);
  const ticket = await ask(bundle, '/api/tickets', 'gzip', { method: 'POST' });
  t.is(ticket.headers['content-encoding'], undefined);
  const short = await ask(bundle, '/health', 'gzip');
  t.is(short.headers['content-encoding'], undefined);
  t.is(short.headers.vary, undefined);
  const ends = new AbortController();
  const events = await fetch(`${bundle.url}/api/events`, {
    headers: { authorization: `Bearer ${environmentKey}`, 'accept-encoding': 'gzip' },
    signal: ends.signal,
  });
  t.is(events.headers.get('content-encoding'), null);
  ends.abort();
});
