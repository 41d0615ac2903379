import type { ExecutionContext } from 'ava';
import test from 'ava';
import { WebSocket } from 'ws';
import type { ChunkPart } from '../../src/domain/chunkParts.ts';
import type { JobOutput } from '../../src/domain/liveProtocol.ts';
import { type CoordinatorFrame, workerSubprotocol } from '../../src/domain/workerProtocol.ts';
import { silent } from '../../src/lib/log.ts';
import { systemClock } from '../../src/lib/systemClock.ts';
import { createEcho } from '../../src/worker/providers/echo.ts';
import { Worker } from '../../src/worker/worker.ts';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { earliest } from '../worker/support/setup.ts';
import { Stream } from './support/stream.ts';

const hello = { type: 'hello', name: 'w', kind: 'cloud', providers: ['echo'], concurrency: 1 };
const call = { type: 'tool_call', index: 0 } as const;

/** A worker that says exactly what the test says. */
async function hand(t: ExecutionContext, { port, keys }: ApiBundle, more: object = {}) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws/worker`, workerSubprotocol, {
    headers: { authorization: `Bearer ${keys.worker}` },
  });
  t.teardown(() => socket.terminate());
  const frames: CoordinatorFrame[] = [];
  let wake = () => {};
  socket.on('message', (data) => {
    frames.push(JSON.parse(String(data)) as CoordinatorFrame);
    wake();
  });
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  await new Promise((resolve) => socket.on('open', resolve));
  const send = (frame: object) => socket.send(JSON.stringify(frame));
  const next = async <K extends CoordinatorFrame['type']>(type: K, nth = 1) => {
    for (;;) {
      const found = frames.filter((frame) => frame.type === type)[nth - 1];
      if (found !== undefined) return found as Extract<CoordinatorFrame, { type: K }>;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  send({ ...hello, ...more });
  return { send, next, closed, frames };
}

/** A job that runs with a worker that says what the test says, and a stream of its events. */
async function following(t: ExecutionContext, more: object = { features: ['typed_chunks'] }) {
  const bundle = await setupApi(t);
  const worker = await hand(t, bundle, more);
  const { job } = await bundle.coordinator.dispatch(request());
  const assigned = (await worker.next('assign')).jobs[0];
  if (assigned === undefined) throw new Error('no job');
  const { lease } = assigned;
  const stream = new Stream(t, bundle, `/api/jobs/${job.id}/events`);
  await stream.next('snapshot');
  const chunk = (seq: number, said: object) =>
    worker.send({ type: 'chunk', job_id: job.id, lease, seq, ...said });
  /** What a viewer sees who comes now. */
  const late = async () => {
    const other = new Stream(t, bundle, `/api/jobs/${job.id}/events`);
    const { data } = await other.next('snapshot');
    return data.data.output;
  };
  return { bundle, worker, job, lease, stream, chunk, late };
}

test('the welcome names the features of the hello that hold, and is as ever to a worker that has none', async (t) => {
  const bundle = await setupApi(t);
  const old = await hand(t, bundle, { name: 'old' });
  t.false('features' in (await old.next('welcome')));
  const other = await hand(t, bundle, { name: 'other', features: ['of_the_future'] });
  t.deepEqual((await other.next('welcome')).features, []);
  const typed = await hand(t, bundle, { name: 'typed', features: ['typed_chunks', 'of_the_future'] });
  t.deepEqual((await typed.next('welcome')).features, ['typed_chunks']);
  const wrong = await hand(t, bundle, { name: 'wrong', features: 'typed_chunks' });
  t.is(await wrong.closed, 4400);
});

test('events have the text alone as ever, and the parts beside it when there is more', async (t) => {
  const { job, lease, stream, chunk, late } = await following(t);
  const parts: ChunkPart[] = [
    { type: 'reasoning', text: 'Hmm.' },
    { type: 'text', text: 'I look.' },
    { ...call, id: 'c', name: 'find', arguments: '{"q"' },
  ];
  chunk(1, { text: 'Oh. ' });
  chunk(2, { parts });
  chunk(3, { parts: [{ ...call, arguments: ':1}' }] });
  chunk(4, { parts: [{ type: 'text', text: ' Yes.' }] });
  const last = await stream.next('job.progress', 4);
  const said = stream.events.filter(({ event }) => event === 'job.progress').map(({ data }) => data.data);
  const of = { id: job.id, lease };
  t.deepEqual(said, [
    { ...of, seq: 1, text: 'Oh. ' },
    { ...of, seq: 2, text: 'I look.', parts },
    { ...of, seq: 3, text: '', parts: [{ ...call, arguments: ':1}' }] },
    { ...of, seq: 4, text: ' Yes.' },
  ]);
  t.is(last.data.data.seq, 4);
  t.deepEqual(await late(), {
    lease,
    seq: 4,
    text: 'Oh. I look. Yes.',
    truncated: false,
    parts: [
      { type: 'text', text: 'Oh. ' },
      { type: 'reasoning', text: 'Hmm.' },
      { type: 'text', text: 'I look.' },
      { ...call, id: 'c', name: 'find', arguments: '{"q":1}' },
      { type: 'text', text: ' Yes.' },
    ],
  });
});

test('a viewer who comes back gets the parts that it missed', async (t) => {
  const { bundle, job, stream, chunk } = await following(t);
  chunk(1, { parts: [{ type: 'reasoning', text: 'a' }] });
  const { id } = await stream.next('job.progress');
  chunk(2, { parts: [{ type: 'reasoning', text: 'b' }] });
  await stream.next('job.progress', 2);
  const again = new Stream(t, bundle, `/api/jobs/${job.id}/events?since=${id}`);
  t.deepEqual((await again.next('job.progress')).data.data.parts, [{ type: 'reasoning', text: 'b' }]);
});

test('malformed parts are bad frames, and the fifth closes the connection', async (t) => {
  const { bundle, job, worker, chunk } = await following(t);
  const wrong = [
    {},
    { parts: null },
    { parts: 'x' },
    { parts: [null] },
    { parts: [{ type: 'reasoning' }] },
    { parts: [{ type: 7, text: 'x' }] },
    { parts: [{ type: 'tool_call', arguments: '{}' }] },
    { parts: [{ ...call, index: 1_000, arguments: '{}' }] },
    { parts: [{ ...call, index: -1, arguments: '{}' }] },
    { parts: [{ ...call, index: 0.5, arguments: '{}' }] },
    { parts: [{ ...call, id: null, arguments: '{}' }] },
    { parts: [{ ...call, arguments: {} }] },
    { parts: Array.from({ length: 1_001 }, () => ({ type: 'text', text: 'x' })) },
  ];
  let sent = 0;
  for (const said of wrong.slice(0, 4)) {
    chunk(1, said);
    sent += 1;
    t.like(await worker.next('error', sent), { code: 'bad_frame' }, JSON.stringify(said));
  }
  chunk(1, wrong[4] ?? {});
  t.is(await worker.closed, 1008);
  for (const [index, said] of wrong.slice(5).entries()) {
    const other = await hand(t, bundle, { name: `other ${index}` });
    await other.next('welcome');
    other.send({ type: 'chunk', job_id: job.id, lease: 1, seq: 1, ...said });
    const { message } = await other.next('error');
    t.true(message.startsWith('chunk: '), message);
    t.true(message.length < 400, 'no value is quoted');
  }
});

test('what a worker says beyond its bounds, or besides the parts, is not kept', async (t) => {
  const { lease, stream, chunk, late } = await following(t);
  const long = 'x'.repeat(200_000);
  chunk(1, {
    text: 'not this',
    parts: [
      { type: 'image', url: 'y'.repeat(100_000) },
      { type: 'text', text: '' },
      { ...call, arguments: '' },
      { ...call, id: 'i'.repeat(5_000), name: 'n'.repeat(5_000), arguments: '{}', more: { deep: [long] } },
      { type: 'reasoning', text: long, __proto__x: 1 },
      { type: 'text', text: long },
      { type: 'text', text: 'cut off' },
    ],
  });
  const { data } = (await stream.next('job.progress')).data;
  const rest = 256 * 1024 - 402 - long.length;
  t.deepEqual(data.parts, [
    { ...call, id: 'i'.repeat(200), name: 'n'.repeat(200), arguments: '{}' },
    { type: 'reasoning', text: long },
    { type: 'text', text: 'x'.repeat(rest) },
  ]);
  t.is(data.text, 'x'.repeat(rest));
  for (let seq = 2; seq < 8; seq += 1) chunk(seq, { parts: [{ type: 'reasoning', text: long }] });
  await stream.next('job.progress', 7);
  const output = (await late()) as { parts: ChunkPart[]; truncated: boolean };
  t.like(output, { lease, text: '', truncated: true });
  t.deepEqual(output.parts, [{ type: 'reasoning', text: long }], 'the newest 256 KiB');
});

test('many small parts weigh what they take', async (t) => {
  const { bundle, stream, chunk } = await following(t);
  const parts = Array.from({ length: 1_000 }, (_, index) => ({ ...call, index, arguments: 'x' }));
  for (let seq = 1; seq <= 20; seq += 1) chunk(seq, { parts });
  await stream.next('job.progress', 20);
  t.true(bundle.live.outputSize <= 256 * 1024, String(bundle.live.outputSize));
});

test('a chunk of a lease that is another worker’s is dropped, with parts too', async (t) => {
  const { bundle, job, lease, chunk, late } = await following(t);
  const stranger = await hand(t, bundle, { name: 'stranger' });
  await stranger.next('welcome');
  const parts = [{ type: 'reasoning', text: 'stolen' }];
  stranger.send({ type: 'chunk', job_id: job.id, lease, seq: 1, parts });
  stranger.send({ type: 'heartbeat', running: [] });
  await stranger.next('heartbeat_ack');
  t.is(await late(), null);
  chunk(1, { text: 'mine' });
});

test('a worker and a coordinator of ours agree: an echo’s reasoning and calls reach who watches', async (t) => {
  const bundle = await setupApi(t);
  const worker = new Worker({
    name: 'echo',
    kind: 'local',
    coordinatorUrl: `http://127.0.0.1:${bundle.port}`,
    apiKey: () => bundle.keys.worker,
    providers: [createEcho()],
    concurrency: 1,
    clock: systemClock,
    random: earliest,
    logger: silent,
  });
  t.teardown(() => worker.stop());
  await worker.start();
  await worker.untilConnected();
  const stream = new Stream(t, bundle, '/api/events?topics=jobs');
  await stream.next('snapshot');
  const params = {
    echo_delay_ms: 400,
    echo_reasoning: 'They want the weather.',
    echo_output: 'I look.',
    echo_tool_calls: [{ name: 'weather', arguments: { city: 'Zürich' } }],
  };
  const { job } = await bundle.coordinator.dispatch(request({ params }));
  const watching = new Stream(t, bundle, `/api/jobs/${job.id}/events`);
  await watching.next('job.completed');
  const parts = watching.events.flatMap(({ event, data }) => {
    if (event !== 'snapshot' && event !== 'job.progress') return [];
    const said = (event === 'snapshot' ? (data.data.output ?? {}) : data.data) as Partial<JobOutput>;
    return said.parts ?? [{ type: 'text' as const, text: said.text ?? '' }];
  });
  const of = (type: string) =>
    parts.map((part) => (part.type !== type ? '' : 'text' in part ? part.text : part.arguments)).join('');
  t.is(of('reasoning'), 'They want the weather.');
  t.is(of('text'), 'I look.');
  t.is(of('tool_call'), '{"city":"Zürich"}');
  t.like(
    parts.find(({ type }) => type === 'tool_call'),
    { index: 0, id: 'call_0', name: 'weather' },
  );
  t.like((await bundle.coordinator.job(job.id)).job.life.result, {
    output: 'I look.',
    finishReason: 'tool_calls',
  });
});
