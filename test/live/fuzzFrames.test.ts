import test from 'ava';
import fc from 'fast-check';
import { WebSocket } from 'ws';
import { environmentKey, setupApi } from '../support/api.ts';
import { fuzzOptions, holdsNothingInside, oddText, oddValue } from '../support/fuzz.ts';

const runs = 150;
const lease = { job_id: '01900000-0000-7000-8000-000000000000', lease: 1 };
const hello = { type: 'hello', name: 'w', kind: 'cloud', providers: ['echo'], concurrency: 2 };

/** A good frame of each kind, to be broken somewhere. */
const good = {
  '/ws': [
    {
      type: 'subscribe',
      topics: ['jobs', 'workers', 'stats', 'providers', 'machines'],
      since: 0,
      epoch: 'a',
    },
    { type: 'subscribe', topics: [`job:${lease.job_id}`] },
    { type: 'unsubscribe', topics: ['jobs'] },
    { type: 'ping' },
  ],
  '/ws/worker': [
    {
      ...hello,
      models: { echo: ['a'] },
      tags: ['a'],
      version: '1',
      host: 'h',
      instance: 'i',
      running: [lease],
      features: ['typed_chunks'],
    },
    { type: 'heartbeat', running: [lease], models: { echo: ['a'] } },
    { type: 'chunk', ...lease, seq: 1, text: 'a' },
    {
      type: 'chunk',
      ...lease,
      seq: 2,
      parts: [
        { type: 'reasoning', text: 'a' },
        { type: 'tool_call', index: 0, id: 'c', name: 'f', arguments: '{}' },
      ],
    },
    {
      type: 'complete',
      ...lease,
      result: {
        output: 'a',
        finish_reason: 'stop',
        model: 'a',
        usage: { input_tokens: 1 },
        raw_usage: {},
        latency_ms: 1,
      },
    },
    {
      type: 'fail',
      ...lease,
      error: { class: 'server_error', message: 'a', status: 500, retry_after_seconds: 1 },
    },
    { type: 'aborted', ...lease, usage: { output_tokens: 2 } },
    { type: 'release', ...lease },
    { type: 'drain' },
  ],
} as const;

/** A frame with one place, anywhere in it, that holds something else; or something that is no frame. */
function frames(path: keyof typeof good): fc.Arbitrary<string | Buffer> {
  const broken = fc
    .tuple(fc.constantFrom<object>(...good[path]), fc.nat(), oddValue, oddText)
    .map(([frame, where, value, key]) => {
      let left = where % 12;
      return JSON.stringify(frame, (_, at: unknown) => {
        left -= 1;
        if (left === 0) return value;
        return left === 1 && typeof at === 'object' && at !== null && !Array.isArray(at)
          ? { ...at, [key]: value }
          : at;
      });
    });
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<object>(...good[path]).map((frame) => JSON.stringify(frame)) },
    { weight: 8, arbitrary: broken.map((text) => text ?? 'null') },
    { weight: 1, arbitrary: oddText },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)) },
  );
}

/** Codes with which the coordinator ends a connection that breaks the protocol; 1007: text that is no UTF-8. */
const codes = [1000, 1007, 1008, 1009, 4400, 4409];

for (const path of ['/ws', '/ws/worker'] as const) {
  test(`${path} answers any frames as the protocol says, and tells nothing of the inside`, async (t) => {
    const bundle = await setupApi(t);
    const headers = { authorization: `Bearer ${environmentKey}` };
    let answers = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(frames(path), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (sent, isIn) => {
          const socket = new WebSocket(
            `ws://127.0.0.1:${bundle.port}${path}`,
            path === '/ws' ? 'svc.v1' : 'svc.worker.v1',
            {
              headers,
            },
          );
          const said: string[] = [];
          socket.on('message', (data) => said.push(String(data)));
          const code = await new Promise<number>((resolve, reject) => {
            socket.on('error', reject);
            socket.on('close', resolve);
            socket.on('pong', () => socket.close(1000));
            socket.on('open', () => {
              if (isIn && path === '/ws/worker') socket.send(JSON.stringify(hello));
              for (const frame of sent) socket.send(frame);
              socket.ping();
            });
          });
          answers += said.length;
          if (!codes.includes(code)) throw new Error(`closed with ${code}: ${said.join('\n').slice(0, 500)}`);
          const text = said.join('\n');
          holdsNothingInside(text);
          if (/could not be handled|internal_error/.test(text))
            throw new Error(`a bug: ${text.slice(0, 500)}`);
        },
      ),
      fuzzOptions(runs),
    );
    t.true(answers > runs / 2);
    t.is((await bundle.api('GET', '/api/jobs')).status, 200);
  });
}
