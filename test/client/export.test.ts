import test from 'ava';
import { type ApiError, createClient, Unreachable } from '../../src/client/client.ts';
import { problem, serve, wireJob } from './server.ts';

const apiKey = '0123456789abcdef';
const type = { 'content-type': 'application/x-ndjson' };

async function idsOf(jobs: AsyncIterable<{ id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of jobs) ids.push(id);
  return ids;
}

test('an export is read line by line, however its bytes are cut', async (t) => {
  const jobs = Array.from({ length: 50 }, (_, n) => wireJob({ id: `job-${n}`, prompt: 'Grüße, 世界' }));
  const bytes = Buffer.from(jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
  const { url, seen } = await serve(t, () => (response) => {
    response.writeHead(200, type);
    for (let at = 0; at < bytes.length; at += 997) response.write(bytes.subarray(at, at + 997));
    response.end();
  });
  const client = createClient({ baseUrl: url, apiKey });
  const read = [];
  const filters = {
    status: 'failed',
    tags: ['a', 'b'],
    createdAfter: '2026-11-01T00:00:00.000Z',
    archived: true,
  };
  for await (const job of client.exportJobs(filters)) read.push(job);
  t.deepEqual(read, jobs);
  t.is(seen[0]?.path, '/api/jobs/export');
  t.is(
    String(seen[0]?.query),
    'status=failed&tag=a&tag=b&created_after=2026-11-01T00%3A00%3A00.000Z&archived=true',
  );
  t.is(seen[0]?.headers.authorization, `Bearer ${apiKey}`);
});

test('a refusal, an answer that breaks off and one that is somebody else’s are errors', async (t) => {
  const { url } = await serve(t, ({ query }) => {
    if (query.get('provider') === 'refused') return problem(403, 'forbidden', 'no');
    return (response) => {
      response.writeHead(200, type);
      response.write(`${JSON.stringify(wireJob({ id: 'first' }))}\n`);
      if (query.get('provider') === 'strange') return response.end('<html>\n');
      if (query.get('provider') === 'cut') return response.end('{"id":"sec');
      response.write('{"id":"sec', () => response.destroy());
    };
  });
  const client = createClient({ baseUrl: url, apiKey });
  const read = (provider: string) => idsOf(client.exportJobs({ provider }));
  const refused = await t.throwsAsync<ApiError>(read('refused'));
  t.like(refused, { status: 403, code: 'forbidden', detail: 'no' });
  await t.throwsAsync(read('broken'), { instanceOf: Unreachable });
  await t.throwsAsync(read('cut'), { instanceOf: Unreachable, message: /broke off/ });
  t.like(await t.throwsAsync<ApiError>(read('strange')), { code: 'unexpected_answer' });
});

test('whoever stops reading ends the export', async (t) => {
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const { url } = await serve(t, () => (response) => {
    response.writeHead(200, type);
    response.once('close', () => resolve());
    const write = () => {
      if (!response.destroyed && response.write(`${JSON.stringify(wireJob())}\n`)) setImmediate(write);
    };
    response.on('drain', write);
    write();
  });
  for await (const job of createClient({ baseUrl: url, apiKey }).exportJobs()) {
    t.is(job.status, 'pending');
    break;
  }
  await gone;
});
