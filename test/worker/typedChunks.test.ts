import test from 'ava';
import { type ChunkPart, joinedParts, lengthOfPart } from '../../src/domain/chunkParts.ts';
import { Unsent } from '../../src/worker/unsent.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { answer, job, setup } from './support/setup.ts';

const features = ['typed_chunks'];
const call = { type: 'tool_call', index: 0 } as const;

test('reasoning and tool calls are sent in order with the text to a coordinator that takes them', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session({ features });
  session.assign(job('a'));
  const { context, end } = await provider.next();
  context.onPart({ type: 'reasoning', text: 'Hm' });
  context.onPart({ type: 'reasoning', text: 'm.' });
  context.onText('I ');
  context.onText('look.');
  context.onPart({ ...call, id: 'c', name: 'find', arguments: '' });
  context.onPart({ ...call, arguments: '{"q"' });
  clock.advance(50);
  context.onText('Well');
  clock.advance(50);
  context.onPart({ ...call, arguments: ':1}' });
  end(answer('I look.Well'));
  await session.take('complete');
  const of = { type: 'chunk', job_id: 'a', lease: 1 } as const;
  t.deepEqual(session.of('chunk'), [
    {
      ...of,
      seq: 1,
      parts: [
        { type: 'reasoning', text: 'Hmm.' },
        { type: 'text', text: 'I look.' },
        { ...call, id: 'c', name: 'find', arguments: '{"q"' },
      ],
    },
    { ...of, seq: 2, text: 'Well' },
    { ...of, seq: 3, parts: [{ ...call, arguments: ':1}' }] },
  ]);
});

test('a coordinator that does not name the feature gets the text alone', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const { context, end } = await provider.next();
  context.onPart({ type: 'reasoning', text: 'Hmm.' });
  clock.advance(50);
  context.onText('one');
  context.onPart({ ...call, id: 'c', name: 'find', arguments: '{}' });
  context.onText(' two');
  clock.advance(50);
  end(answer('one two'));
  await session.take('complete');
  t.deepEqual(session.of('chunk'), [{ type: 'chunk', job_id: 'a', lease: 1, seq: 1, text: 'one two' }]);
});

test('a reconnect to a coordinator of another version changes what is sent', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider, event } = await setup(t, { clock });
  await worker.start();
  const first = await coordinator.session({ features: [...features, 'unknown'] });
  first.assign(job('a'));
  const { context } = await provider.next();
  const gone = event('disconnected');
  first.socket.terminate();
  await gone;
  context.onPart({ type: 'reasoning', text: 'Hmm.' });
  context.onText('Yes');
  const back = event('connected');
  clock.advance(30_000);
  const second = await coordinator.session({ features: ['unknown'] });
  await back;
  clock.advance(50);
  t.like(await second.take('chunk'), { seq: 1, text: 'Yes', parts: undefined });
});

test('a run that thinks and then fails has begun', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session({ features });
  session.assign(job('a'));
  const { context, end } = await provider.next();
  context.onPart({ type: 'reasoning', text: 'Hmm.' });
  end({ ok: false, error: { class: 'server_error', message: 'broke off' } });
  t.true((await session.take('fail')).begun);
});

test('what is too much for a frame is divided, and put together it is the same', (t) => {
  const unsent = new Unsent();
  const parts: ChunkPart[] = [
    { type: 'reasoning', text: 'r'.repeat(100_000) },
    { type: 'text', text: 't'.repeat(65_536) },
    { ...call, id: 'c', name: 'find', arguments: 'a'.repeat(150_000) },
    ...Array.from({ length: 2_500 }, (_, index) => ({ ...call, index: 1 + (index % 2), arguments: 'x' })),
  ];
  for (const part of parts) {
    if (part.type === 'text') unsent.addText(part.text);
    else unsent.add(part);
  }
  const frames: ChunkPart[][] = [];
  for (let next = unsent.next(); next.parts.length > 0; next = unsent.next()) {
    t.deepEqual(unsent.next(), next, 'it stays until it was sent');
    frames.push(structuredClone(next.parts));
    unsent.sent(next);
  }
  t.true(unsent.isEmpty);
  for (const frame of frames) {
    t.true(frame.length <= 1_000);
    t.true(frame.reduce((sum, part) => sum + lengthOfPart(part), 0) <= 65_536);
  }
  t.is(frames.length, 7);
  t.deepEqual(joinedParts(frames.flat()), joinedParts(parts));
});

test('without a connection reasoning and calls are kept up to a bound, and text whole', (t) => {
  const unsent = new Unsent();
  const mebi = 1024 * 1024;
  for (let i = 0; i < 10; i += 1) {
    unsent.add({ type: 'reasoning', text: 'r'.repeat(mebi) });
    unsent.addText('t'.repeat(mebi));
  }
  unsent.add({ ...call, id: 'c', name: 'f', arguments: '{}' });
  let [text, besides] = [0, 0];
  for (let next = unsent.next(); next.parts.length > 0; next = unsent.next()) {
    for (const part of next.parts) {
      if (part.type === 'text') text += part.text.length;
      else besides += lengthOfPart(part);
    }
    unsent.sent(next);
  }
  t.is(text, 10 * mebi);
  t.is(besides, 8 * mebi);
});

test('pieces of calls that no result has room for are left out, and long names are cut', (t) => {
  const unsent = new Unsent();
  unsent.add({ ...call, index: 1_000, id: 'c', name: 'f', arguments: '{}' });
  unsent.add({ ...call, arguments: '' });
  unsent.add({ type: 'reasoning', text: '' });
  t.true(unsent.isEmpty);
  unsent.add({ ...call, id: 'i'.repeat(1_000), name: 'n'.repeat(1_000), arguments: '{}' });
  t.deepEqual(unsent.next().parts, [
    { ...call, id: 'i'.repeat(200), name: 'n'.repeat(200), arguments: '{}' },
  ]);
});
