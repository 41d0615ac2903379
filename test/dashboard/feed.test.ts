import test, { type ExecutionContext } from 'ava';
import { ApiError } from '../../src/client/errors.ts';
import { LiveFeed, type LiveFrameEvent, type Wire } from '../../src/dashboard/live/feed.ts';
import { plainTopics } from '../../src/domain/liveProtocol.ts';

/** A feed whose socket, clock and chance are in our hand. */
function setup() {
  let now = 1_000_000;
  let ticketError: Error | null = null;
  let refusal: string | null = null;
  let timers: { at: number; run: () => void }[] = [];
  const wires: (Wire & { said: unknown[]; isClosed: boolean })[] = [];
  const refused: unknown[] = [];
  /** When a ticket was asked for, ms. */
  const asked: number[] = [];
  const feed = new LiveFeed({
    ticket: () => {
      asked.push(now);
      return ticketError === null ? Promise.resolve({ ticket: 't', refusal }) : Promise.reject(ticketError);
    },
    open: () => {
      const said: unknown[] = [];
      const wire = {
        said,
        isClosed: false,
        send: (text: string) => void said.push(JSON.parse(text)),
        close: () => {
          wire.isClosed = true;
        },
        onFrame: (_: string) => {},
        onClose: (_: number) => {},
      };
      wires.push(wire);
      return wire;
    },
    now: () => now,
    after: (ms, run) => {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    random: () => 1,
    onRefused: (error) => void refused.push(error),
    onHello: () => {},
  });
  const settle = async () => {
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return {
    feed,
    wires,
    refused,
    asked,
    refuseSockets: (why: string) => {
      refusal = why;
    },
    refuseTickets: (error: Error | null) => {
      ticketError = error;
    },
    /** Let time pass; what is due runs. */
    pass: async (ms: number) => {
      const until = now + ms;
      for (;;) {
        const next = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        now = next.at;
        next.run();
        await settle();
      }
      now = until;
    },
    settle,
    frame: (frame: unknown) => wires.at(-1)?.onFrame(JSON.stringify(frame)),
    hello: (over: { seq?: number; epoch?: string; at?: number } = {}) => {
      const { seq = 100, epoch = 'e1', at = now } = over;
      const server_time = new Date(at).toISOString();
      wires.at(-1)?.onFrame(JSON.stringify({ type: 'hello', server_time, role: 'admin', seq, epoch }));
    },
  };
}

function hear(t: ExecutionContext) {
  const told: unknown[] = [];
  t.timeout(10_000);
  return {
    told,
    snapshot: (data: unknown) => void told.push(['snapshot', data]),
    event: ({ type, data }: LiveFrameEvent) => void told.push([type, data]),
  };
}

test('topics are subscribed after the hello, each in a frame of its own, and told to who listens', async (t) => {
  const { feed, wires, settle, hello, frame } = setup();
  const workers = hear(t);
  const job = hear(t);
  feed.start();
  feed.listen('workers', workers);
  await settle();
  t.deepEqual(wires[0]?.said, []);
  hello();
  const end = feed.listen('job:1', job);
  t.deepEqual(wires[0]?.said, [
    { type: 'subscribe', topics: ['workers'] },
    { type: 'subscribe', topics: ['job:1'] },
  ]);
  frame({ type: 'snapshot', topic: 'workers', seq: 100, data: [] });
  frame({ type: 'worker.paused', seq: 101, at: '', data: { id: 'w' } });
  frame({ type: 'job.progress', seq: 102, at: '', data: { id: '1', text: 'a' } });
  frame({ type: 'job.progress', seq: 103, at: '', data: { id: '2', text: 'b' } });
  t.deepEqual(workers.told, [
    ['snapshot', []],
    ['worker.paused', { id: 'w' }],
  ]);
  t.deepEqual(job.told, [['job.progress', { id: '1', text: 'a' }]]);
  end();
  t.deepEqual(wires[0]?.said.at(-1), { type: 'unsubscribe', topics: ['job:1'] });
});

test('an event of every kind is told to who listens to its topic', async (t) => {
  const { feed, settle, hello, frame } = setup();
  feed.start();
  await settle();
  hello();
  const data = { id: '1' };
  const kinds = [
    ['stats', 'stats'],
    ['transition', 'machines'],
    ['inspected', 'inspect'],
    ['run.updated', 'runs'],
    ['worker.paused', 'workers'],
    ['provider.limited', 'providers'],
    ['queue.paused', 'queue'],
    ['job.created', 'jobs'],
    ['job.progress', 'job:1'],
  ] as const;
  t.deepEqual([...new Set(kinds.map(([, topic]) => topic))].sort(), [...plainTopics, 'job:1'].sort());
  for (const [seq, [type, topic]] of kinds.entries()) {
    const listener = hear(t);
    const end = feed.listen(topic, listener);
    frame({ type, seq: 101 + seq, at: '', data });
    t.deepEqual(listener.told, [[type, data]], type);
    end();
  }
});

test('after a break it goes on after the last number it heard, and anew when the coordinator is another', async (t) => {
  const { feed, wires, settle, pass, hello, frame } = setup();
  feed.start();
  feed.listen('jobs', hear(t));
  await settle();
  hello();
  frame({ type: 'snapshot', topic: 'jobs', seq: 100, data: {} });
  frame({ type: 'job.created', seq: 140, at: '', data: { id: '1' } });
  wires[0]?.onClose(1001);
  t.is(feed.connection.value.phase, 'lost');
  await pass(1_000);
  hello({ seq: 150 });
  t.is(feed.connection.value.phase, 'live');
  t.deepEqual(wires[1]?.said, [{ type: 'subscribe', topics: ['jobs'], since: 140, epoch: 'e1' }]);
  wires[1]?.onClose(1006);
  await pass(1_000);
  hello({ seq: 200, epoch: 'e2' });
  t.deepEqual(wires[2]?.said, [{ type: 'subscribe', topics: ['jobs'] }]);
});

test('who begins to listen while the connection is lost gets a snapshot, and who has one goes on', async (t) => {
  const { feed, wires, settle, pass, hello, frame } = setup();
  feed.start();
  feed.listen('jobs', hear(t));
  await settle();
  hello();
  frame({ type: 'snapshot', topic: 'jobs', seq: 120, data: {} });
  feed.listen('stats', hear(t));
  wires[0]?.onClose(1006);
  feed.listen('workers', hear(t));
  await pass(1_000);
  hello({ seq: 150 });
  t.deepEqual(wires[1]?.said, [
    { type: 'subscribe', topics: ['jobs'], since: 120, epoch: 'e1' },
    { type: 'subscribe', topics: ['stats'] },
    { type: 'subscribe', topics: ['workers'] },
  ]);
});

test('attempts to connect come ever more rarely, and at once when asked for', async (t) => {
  const { feed, wires, settle, pass, asked, refuseTickets } = setup();
  refuseTickets(new Error('nobody answers'));
  feed.start();
  await settle();
  await pass(60_000);
  const pauses = asked.map((at, index) => at - (asked[index - 1] ?? at)).slice(1);
  t.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
  t.is(wires.length, 0);
  refuseTickets(null);
  feed.retryNow();
  await settle();
  t.is(wires.length, 1);
});

test('a key that is refused ends it instead of trying for ever', async (t) => {
  const { feed, wires, settle, pass, refused, refuseTickets, hello } = setup();
  feed.start();
  await settle();
  hello();
  wires[0]?.onClose(4401);
  t.is(refused.length, 1);
  feed.stop();
  refuseTickets(new ApiError(401, { detail: 'no' }));
  feed.start();
  await settle();
  t.is(refused.length, 2);
  await pass(100_000);
  t.is(wires.length, 1);
});

test('a connection that has gone silent is left for a new one', async (t) => {
  const { feed, wires, settle, pass, hello } = setup();
  feed.start();
  await settle();
  hello();
  await pass(40_000);
  t.deepEqual(wires[0]?.said, [{ type: 'ping' }, { type: 'ping' }]);
  await pass(30_000);
  t.true(wires[0]?.isClosed);
  t.is(wires.length, 2);
});

test('a page that nobody sees hears nothing, and gets fresh snapshots when it is seen again', async (t) => {
  const { feed, wires, settle, hello } = setup();
  feed.start();
  feed.listen('stats', hear(t));
  await settle();
  hello();
  feed.setPaused(true);
  feed.setPaused(false);
  t.deepEqual(wires[0]?.said, [
    { type: 'subscribe', topics: ['stats'] },
    { type: 'unsubscribe', topics: ['stats'] },
    { type: 'subscribe', topics: ['stats'] },
  ]);
});

test("the server's clock is known to the second, however wrong ours is", async (t) => {
  const { feed, settle, hello, frame } = setup();
  feed.start();
  await settle();
  hello({ at: 1_000_000 + 600_000 });
  t.is(feed.offsetMs.value, 600_000);
  frame({ type: 'pong', server_time: new Date(1_000_000 + 200).toISOString() });
  t.is(feed.offsetMs.value, 0);
});

/** What a page says of its connection. */
function whyOf(feed: LiveFeed): string | null | undefined {
  const connection = feed.connection.value;
  return connection.phase === 'lost' ? connection.why : undefined;
}

test('a socket that is refused says why, and one that a proxy does not pass on says so', async (t) => {
  const refused = setup();
  refused.refuseSockets('set public_url');
  refused.feed.start();
  await refused.settle();
  refused.wires[0]?.onClose(1006);
  t.is(whyOf(refused.feed), 'set public_url');

  const { feed, wires, settle, pass, hello, refuseTickets } = setup();
  feed.start();
  await settle();
  wires[0]?.onClose(1006);
  t.is(whyOf(feed), null, 'once may be a restart');
  await pass(1_000);
  wires[1]?.onClose(1006);
  t.regex(whyOf(feed) ?? '', /proxy .* does not pass on the upgrade/);
  await pass(5_000);
  hello();
  wires[2]?.onClose(1006);
  t.is(whyOf(feed), null, 'it had opened');
  refuseTickets(new Error('nobody answers'));
  await pass(5_000);
  t.is(whyOf(feed), null, 'nobody answers at all');
});
