import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { createApp } from '../../src/http/app.ts';
import { readDashboard } from '../../src/http/dashboard.ts';
import { setupApi } from '../support/api.ts';
import { temporaryFolder } from '../support/folder.ts';

const script = `export const words = '${'many words '.repeat(50)}';\n`;

/** A coordinator that serves a small build. */
async function setup(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><base href="./" /><title>Dashboard</title>');
  writeFileSync(join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  writeFileSync(join(folder, 'assets/index-1a2b.js'), script);
  writeFileSync(join(folder, 'assets/index-1a2b.js.br'), brotliCompressSync(script));
  writeFileSync(join(folder, 'assets/index-1a2b.js.gz'), gzipSync(script));
  const { parts } = await setupApi(t);
  const server = createServer(createApp({ ...parts, dashboard: readDashboard(folder) }).callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    // Asked conditionally, fetch would say no-cache by itself, and everything would be new.
    fetch(url + path, { headers: { 'cache-control': 'max-age=0', ...headers }, method });
  return { get };
}

const asPage = { accept: 'text/html,application/xhtml+xml' };

test('every path outside the API is the page, kept by no cache, with the way to its files', async (t) => {
  const { get } = await setup(t);
  for (const [path, base] of [
    ['/', './'],
    ['/jobs', './'],
    ['/jobs/1', '../'],
    ['/a/b/c?x=/y/', '../../'],
  ] as const) {
    const response = await get(path, asPage);
    t.is(response.status, 200, path);
    t.is(response.headers.get('cache-control'), 'no-store');
    t.true((await response.text()).includes(`<base href="${base}"`), path);
  }
  t.is((await get('/')).status, 200);
});

test('paths of the API are never the page', async (t) => {
  const { get } = await setup(t);
  for (const path of ['/api/jobs', '/api/nothing', '/api', '/v1/models', '/metrics', '/ws', '/ws/worker']) {
    const response = await get(path, asPage);
    t.is(response.status, 401, path);
  }
  t.is((await get('/jobs', { accept: 'application/json' })).status, 401);
  t.is((await get('/jobs', asPage, 'POST')).status, 401);
  t.is((await get('/health', asPage)).headers.get('content-type'), 'application/json; charset=utf-8');
});

test('the page may use nothing but files of its own address', async (t) => {
  const { get } = await setup(t);
  const { headers } = await get('/', asPage);
  const policy = headers.get('content-security-policy') ?? '';
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]) {
    t.true(policy.split('; ').includes(part), part);
  }
  t.false(policy.includes('unsafe'));
  t.is(headers.get('x-content-type-options'), 'nosniff');
  t.is(headers.get('x-frame-options'), 'DENY');
  t.is(headers.get('referrer-policy'), 'no-referrer');
});

test('a file with its hash in the name is kept for ever, and sent compressed as the browser takes it', async (t) => {
  const { get } = await setup(t);
  const path = '/assets/index-1a2b.js';
  const etags = new Set<string | null>();
  for (const encoding of ['br', 'gzip', 'identity']) {
    const response = await get(path, { 'accept-encoding': encoding });
    t.is(response.headers.get('content-encoding'), encoding === 'identity' ? null : encoding);
    t.is(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    t.is(response.headers.get('content-type'), 'text/javascript; charset=utf-8');
    t.is(response.headers.get('vary'), 'Accept-Encoding');
    t.is(await response.text(), script);
    etags.add(response.headers.get('etag'));
  }
  t.is(etags.size, 3);
  const again = await get(path, { 'accept-encoding': 'br', 'if-none-match': [...etags][0] ?? '' });
  t.is(again.status, 304);
  t.is(await again.text(), '');
});

test('a file without a hash is asked for again each time', async (t) => {
  const { get } = await setup(t);
  const { headers } = await get('/icon.svg');
  t.is(headers.get('cache-control'), 'no-cache');
  t.is((await get('/icon.svg', { 'if-none-match': headers.get('etag') ?? '' })).status, 304);
});

test('a file of an older build is not there, and nothing outside of the folder is', async (t) => {
  const { get } = await setup(t);
  t.is((await get('/assets/index-0000.js', asPage)).status, 404);
  t.is((await get('/assets/..%2f..%2fpackage.json')).status, 404);
  t.is((await get('/package.json')).status, 401);
});

test('without a build a plain page says so', async (t) => {
  t.is(readDashboard(join(temporaryFolder(t), 'nowhere')), null);
  const { url } = await setupApi(t);
  const response = await fetch(`${url}/jobs/1`, { headers: asPage });
  t.is(response.status, 200);
  t.regex(await response.text(), /npm run build/);
});
