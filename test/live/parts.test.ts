import type { AddressInfo } from 'node:net';
import test from 'ava';
import { WebSocket, WebSocketServer } from 'ws';
import { eventStreamEvent, webSocketFrame } from '../../src/live/encoding.ts';
import { Feed } from '../../src/live/feed.ts';
import { History } from '../../src/live/history.ts';
import { Outputs } from '../../src/live/outputs.ts';
import { FakeClock, seededRandom } from '../support/fakeClock.ts';
import { textParts } from '../support/textParts.ts';

test('frames of every length arrive as they were', async (t) => {
  const texts = [0, 1, 125, 126, 127, 65_535, 65_536, 200_000].flatMap((length) => [
    'x'.repeat(length),
    'ü'.repeat(length / 2),
  ]);
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.teardown(() => server.close());
  // Many frames in one write on the bare socket, as in a live connection.
  server.on('connection', (_, { socket }) => {
    socket.write(Buffer.concat(texts.map((json) => webSocketFrame({ type: 'x', seq: null, json }))));
  });
  await new Promise<void>((resolve) => server.once('listening', () => resolve()));
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.teardown(() => client.terminate());
  const got: string[] = [];
  await new Promise<void>((resolve) => {
    client.on('message', (data) => {
      got.push(String(data));
      if (got.length === texts.length) resolve();
    });
  });
  t.true(got.every((text, index) => text === texts[index]));
});

test('an event of a stream is one line of data, whatever stands in it', (t) => {
  const json = JSON.stringify({ text: 'a\nb\r\n\nc\u2028d' });
  t.is(String(eventStreamEvent({ type: 'x', seq: 7, json })), `id: 7\nevent: x\ndata: ${json}\n\n`);
  t.is(String(eventStreamEvent({ type: 'x', seq: null, json: '{}' })), 'event: x\ndata: {}\n\n');
});

function feeding() {
  const feed = new Feed({ clock: new FakeClock(), random: seededRandom() });
  const presented: number[] = [];
  const tell = ({ size = 0, jobId = 'j', text = '' } = {}) => {
    const data = () => presented.push(0) && { text };
    const entry = feed.number({
      type: 'job.started',
      at: 0,
      topics: ['jobs', `job:${jobId}`],
      jobId,
      size,
      data,
    });
    feed.keep(entry);
    return entry;
  };
  return { feed, tell, presented };
}

test('the feed remembers so many events, and knows what it has forgotten', (t) => {
  const { feed, tell, presented } = feeding();
  const start = feed.seq;
  t.true(feed.covers(start));
  for (let count = 0; count < 10_000; count += 1) tell();
  t.is(feed.seq, start + 10_000);
  t.is(feed.after(start).length, 4_096);
  t.false(feed.covers(start));
  t.true(feed.covers(feed.seq - 4_096) && !feed.covers(feed.seq - 4_097));
  t.false(feed.covers(feed.seq + 1));
  t.deepEqual(
    feed.after(feed.seq - 3).map(({ seq }) => seq - start),
    [9_998, 9_999, 10_000],
  );
  t.deepEqual(feed.after(feed.seq), []);
  t.is(presented.length, 0);
});

test('the feed weighs what it remembers, also what grows when it is serialised', (t) => {
  const { feed, tell } = feeding();
  const start = feed.seq;
  for (let count = 0; count < 100; count += 1) tell({ size: 1_000_000 });
  t.is(feed.after(start).length, 16);
  t.true(feed.bytes <= 16 * 1024 * 1024 && feed.bytes > 15 * 1024 * 1024, `${feed.bytes}`);
  const text = 'x'.repeat(1_000_000);
  const { feed: other, tell: tellText } = feeding();
  const from = other.seq;
  const entries = Array.from({ length: 100 }, () => tellText({ text }));
  t.is(other.after(from).length, 100);
  for (const entry of entries) entry.bytes(webSocketFrame);
  t.is(other.after(from).length, 8, 'text and bytes');
  for (const entry of entries.slice(0, 50)) entry.bytes(eventStreamEvent);
  t.is(other.after(from).length, 8, 'what is forgotten weighs nothing');
  tellText();
  t.true(other.covers(other.seq - 1));
});

test('an entry is presented once for each choice of words, and again when it was let go', (t) => {
  const { tell, presented } = feeding();
  const entry = tell();
  t.is(entry.bytes(webSocketFrame), entry.bytes(webSocketFrame));
  entry.bytes(eventStreamEvent);
  t.is(presented.length, 1);
  t.regex(String(entry.bytesAfterGap(eventStreamEvent)), /,"gap":true\}\n\n$/);
  entry.release();
  entry.bytes(webSocketFrame);
  t.is(presented.length, 2);
});

test('outputs are bounded, a job at a time and all together', (t) => {
  const { feed } = feeding();
  const outputs = new Outputs();
  const say = (jobId: string, seq: number, characters: number) => {
    const entry = feed.number({ type: 'job.progress', at: 0, topics: [`job:${jobId}`], data: () => ({}) });
    outputs.add(jobId, 1, { seq, parts: textParts('x'.repeat(characters)), entry });
    return entry.seq;
  };
  const first = say('long', 1, 100_000);
  for (let seq = 2; seq <= 10; seq += 1) say('long', seq, 100_000);
  t.like(outputs.text('long'), { seq: 10, truncated: true });
  t.is(outputs.text('long')?.text.length, 200_000);
  t.false(outputs.covers('long', first));
  t.true(outputs.covers('long', feed.seq - 2));
  say('huge', 1, 300_000);
  t.like(outputs.text('huge'), { seq: 1, text: '', truncated: true });
  for (let job = 0; job < 400; job += 1) say(`j${job}`, 1, 250_000);
  const kept = Array.from({ length: 400 }, (_, job) => outputs.text(`j${job}`)?.text.length ?? 0);
  t.true(kept.reduce((sum, length) => sum + length, 0) <= 64 * 1024 * 1024);
  t.is(kept[0], 0);
  t.is(kept[399], 250_000);
  for (let job = 0; job < 400; job += 1) outputs.end(`j${job}`);
  outputs.end('long');
  outputs.end('huge');
  t.is(outputs.size, 0);
});

test('history tells each event once, and of each job the newest', (t) => {
  const { feed, tell } = feeding();
  const history = new History(feed, new Outputs());
  const start = feed.seq;
  const told = ['a', 'b', 'a', 'c'].map((jobId) => tell({ jobId }));
  const both = new Map([
    ['jobs', start + 1],
    ['job:a', start],
  ]);
  t.deepEqual(history.after(both), told);
  t.deepEqual(history.after(new Map([['job:b', start]])), told.slice(1, 2));
  t.deepEqual(history.after(new Map([['workers', start]])), []);
  t.deepEqual(
    history.newestOfJobs(new Set(['jobs']), start).map(({ jobId }) => jobId),
    ['b', 'a', 'c'],
  );
});
