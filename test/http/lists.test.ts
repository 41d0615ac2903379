import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { pino } from 'pino';
import { createClient } from '../../src/client/client.ts';
import type { WireJob, WireJobList } from '../../src/domain/wire/job.ts';
import type { WireWorker } from '../../src/domain/wire/worker.ts';
import { createApp } from '../../src/http/app.ts';
import { longAnswer, pageAnswer } from '../../src/http/longJson.ts';
import type { Answer } from '../../src/http/route.ts';
import { loggedError } from '../../src/lib/loggedError.ts';
import { type ApiBundle, environmentKey, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { depth } from '../support/depth.ts';
import { until } from '../support/process.ts';

const megabyte = 1_000_000;

async function jobs(
  { api }: ApiBundle,
  query: string,
): Promise<{ jobs: WireJob[]; next: unknown; size: number }> {
  const { status, json, text } = await api('GET', `/api/jobs?${query}`);
  if (status !== 200) throw new Error(text);
  return { jobs: json.jobs as WireJob[], next: json.next_offset, size: text.length };
}

test('a list shows the beginning of what is long, and says so; the job itself has it all', async (t) => {
  const bundle = await setupApi(t);
  const text = 'a'.repeat(100_000);
  const request = {
    provider: 'echo',
    tags: Array.from({ length: 100 }, (_, index) => `${index} ${'t'.repeat(190)}`),
    params: { schema: { description: text }, more: [text] },
    metadata: { note: text },
    input: text,
  };
  const prompted = { ...request, prompt: text };
  const chat = { ...request, messages: [{ role: 'user', content: text }] };
  const ids: unknown[] = [];
  for (const body of [prompted, chat]) ids.push((await bundle.api('POST', '/api/jobs', body)).json.id);
  const { jobs: listed, size } = await jobs(bundle, 'include=input');
  t.true(size < 40_000, `${size} characters`);
  const [second, first] = listed;
  t.like(first, {
    prompt: 'a'.repeat(500),
    prompt_truncated: true,
    input: 'a'.repeat(500),
    input_truncated: true,
    tags_truncated: true,
    params_truncated: true,
    metadata_truncated: true,
  });
  t.false('messages_truncated' in (first ?? {}));
  t.like(second, { prompt: null, prompt_truncated: false, messages_truncated: true });
  t.deepEqual(second?.messages, [{ role: 'user', content: 'a'.repeat(500) }]);
  const { jobs: whole } = await jobs(bundle, 'include=request');
  for (const [index, body] of [chat, prompted].entries()) {
    t.like(whole[index], { ...body, prompt_truncated: false, input_truncated: false });
    t.false('params_truncated' in (whole[index] ?? {}));
  }
  const { json } = await bundle.api('GET', `/api/jobs/${ids[0]}`);
  t.like(json, prompted);
  t.false('prompt_truncated' in json);
});

test('a page ends at 8 MiB, and the next one begins behind it', async (t) => {
  const bundle = await setupApi(t);
  const prompt = 'p'.repeat(megabyte);
  for (let i = 0; i < 20; i += 1) await bundle.coordinator.dispatch(request({ prompt }));
  const seen = new Set<string>();
  let offset = 0;
  let pages = 0;
  for (;;) {
    const page = await jobs(bundle, `include=request&limit=1000&offset=${offset}`);
    pages += 1;
    t.true(page.size < 9 * megabyte, `${page.size} characters`);
    for (const job of page.jobs) {
      t.is(job.prompt?.length, megabyte);
      seen.add(job.id);
    }
    if (page.next === undefined) break;
    t.is(page.next, offset + page.jobs.length);
    offset = Number(page.next);
  }
  t.is(seen.size, 20);
  t.is(pages, 3);
});

test('a row that is longer than a page is given alone', async (t) => {
  const bundle = await setupApi(t);
  const { api } = bundle;
  await api('POST', '/api/jobs', { prompt: 'old', provider: 'echo' });
  // Each of these characters takes three bytes, and six when JSON escapes it.
  for (const character of ['€', '\u0001']) {
    const sent = await fetch(`${bundle.url}/api/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${environmentKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: character.repeat(megabyte * 1.6), provider: 'echo' }),
    });
    t.is(sent.status, 201);
    t.is(((await sent.json()) as WireJob).prompt?.length, megabyte * 1.6);
  }
  const first = await jobs(bundle, 'include=request');
  t.is(first.jobs.length, 1);
  t.is(first.next, 1);
  const second = await jobs(bundle, 'include=request&offset=1');
  t.deepEqual(
    second.jobs.map(({ prompt }) => prompt?.length),
    [megabyte * 1.6, 3],
  );
  t.is(second.next, undefined);
});

test('a job of many megabytes is answered as it is', async (t) => {
  const bundle = await setupApi(t);
  const hand = await bundle.worker();
  const prompt = '"\n'.repeat(megabyte);
  const output = 'ä\u0000😀'.repeat(depth(0.5, 2) * megabyte);
  const { id } = (await bundle.api('POST', '/api/jobs', { prompt, provider: 'echo' })).json;
  await hand.complete(await hand.job(), output);
  const headers = { authorization: `Bearer ${environmentKey}` };
  const job = (await (await fetch(`${bundle.url}/api/jobs/${id}`, { headers })).json()) as WireJob;
  t.true(job.prompt === prompt && job.result?.output === output);
  const listed = await fetch(`${bundle.url}/api/jobs?include=request,result`, { headers });
  const [row] = ((await listed.json()) as WireJobList).jobs;
  t.true(row?.prompt === prompt && row.result?.output === output);
});

/** Turns of the event loop until an answer is made, and the characters of its longest part. */
async function takeAnswer(answer: Answer): Promise<{ turns: number; longest: number; text: string }> {
  if (!('chunks' in answer)) throw new Error('it is made in one go');
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const parts: string[] = [];
  for await (const part of answer.chunks) parts.push(String(part));
  isOver = true;
  return { turns, longest: Math.max(...parts.map(({ length }) => length)), text: parts.join('') };
}

test('a long answer is made in parts, and others get a turn after each', async (t) => {
  const text = '"\u0000'.repeat(megabyte);
  const json = { text, list: Array.from({ length: 100_000 }, (_, index) => ({ index })), empty: [] };
  const one = await takeAnswer(await longAnswer({ json }));
  t.is(one.text, JSON.stringify(json));
  t.true(one.longest < 250_000, `${one.longest} characters`);
  t.true(one.turns >= one.text.length / 250_000, `${one.turns} turns`);
  // Many short rows, and one that does not fit in the end.
  const rows = [
    ...Array.from({ length: 20_000 }, (_, index) => ({ index, text: 'x'.repeat(100) })),
    { text },
  ];
  const rest = (given: number) => ({ given });
  const page = await takeAnswer(await pageAnswer({ name: 'rows', rows, present: (row) => row, rest }));
  t.is(page.text, JSON.stringify({ rows: rows.slice(0, -1), given: 20_000 }));
  t.true(page.turns >= (page.text.length + 7 * megabyte) / 250_000, `${page.turns} turns`);
});

test('the workers come in pages too, and a client reads them all', async (t) => {
  const bundle = await setupApi(t);
  const models = { echo: Array.from({ length: 2_000 }, (_, index) => `${index} ${'m'.repeat(55)}`) };
  for (let i = 0; i < 80; i += 1) await bundle.worker({ name: `w-${i}`, models });
  const { status, json } = await bundle.api('GET', '/api/workers');
  t.is(status, 200);
  const first = (json.workers as WireWorker[]).length;
  t.like(json, { total: 80, next_offset: first });
  t.true(first > 0 && first < 80);
  const client = createClient({ baseUrl: bundle.url, apiKey: environmentKey });
  const { workers, total } = await client.workers();
  t.is(total, 80);
  t.is(new Set(workers.map(({ id }) => id)).size, 80);
});

test('a search and every other filter have a bound', async (t) => {
  const { api } = await setupApi(t);
  t.is((await api('GET', `/api/jobs?q=${'a'.repeat(200)}`)).status, 200);
  const long = 'a'.repeat(201);
  const paths = ['/api/jobs', '/api/jobs/export'];
  for (const name of [
    'q',
    'provider',
    'model',
    'worker',
    'tag',
    'priority',
    'tier',
    'status',
    'created_after',
  ]) {
    for (const path of paths) {
      const { status, json } = await api('GET', `${path}?${name}=${long}`);
      t.is(status, 400, `${path} ${name}`);
      t.like(json, {
        code: 'invalid_request',
        errors: [{ field: name, message: 'must have at most 200 characters' }],
      });
    }
    for (const value of [long, 'a'.repeat(40 * 1024), Array.from({ length: 100 }, () => long)]) {
      const { status, text } = await api('POST', '/api/jobs/cancel', { filter: { [name]: value } });
      t.is(status, 400, name);
      t.true(text.length < 1_000);
    }
  }
  const tags = Array.from({ length: 21 }, (_, index) => `tag=${index}`).join('&');
  t.is((await api('GET', `/api/jobs?${tags}`)).status, 400);
  const words = { filter: { status: Array.from({ length: 100 }, () => ','.repeat(200)) } };
  t.true((await api('POST', '/api/jobs/cancel', words)).text.length < 1_000);
});

test('an error of the inside is logged without a word of the request', async (t) => {
  const lines: string[] = [];
  const logger = pino(
    { serializers: { err: loggedError } },
    { write: (line: string) => void lines.push(line) },
  );
  const { parts, coordinator } = await setupApi(t);
  coordinator.jobs = (query) =>
    Promise.reject(new SyntaxError(`Invalid regular expression: /${query.text}/`));
  const server = createServer(createApp({ ...parts, logger }).callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${environmentKey}`, connection: 'close' };
  t.is((await fetch(`http://127.0.0.1:${port}/api/jobs?q=canary`, { headers })).status, 500);
  t.is(lines.length, 1);
  t.false(lines.join('').includes('canary'));
  t.true(lines.join('').includes('SyntaxError'));
});

test('a search ends with the client that asked for it', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator } = bundle;
  const prompt = 'a'.repeat(9_000_000);
  for (let i = 0; i < 20; i += 1) await coordinator.dispatch(request({ prompt }));
  let isToldToEnd = false;
  const searching = new Set<Promise<unknown>>();
  const search = coordinator.jobs.bind(coordinator);
  coordinator.jobs = (query, signal) => {
    signal?.addEventListener('abort', () => {
      isToldToEnd = true;
    });
    const found = search(query, signal);
    searching.add(found);
    return found;
  };
  const ends = new AbortController();
  const headers = { authorization: `Bearer ${environmentKey}` };
  const q = `${'a'.repeat(40)}b${'a'.repeat(159)}`;
  const asked = fetch(`${bundle.url}/api/jobs?q=${q}`, { headers, signal: ends.signal });
  await until('the search has begun', () => searching.size === 1);
  ends.abort();
  await t.throwsAsync(asked);
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    if (isToldToEnd) turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(searching);
  isOver = true;
  t.true(isToldToEnd);
  // 225 for each of the twenty prompts.
  t.true(turns < 1_000, `${turns} turns`);
});
