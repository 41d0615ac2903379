import test from 'ava';
import { ofSnapshot, outputMax, withChunk } from '../../src/dashboard/pages/job/liveOutput.ts';
import { attentionOf } from '../../src/dashboard/pages/overview/attention.ts';
import type { WireProvider } from '../../src/domain/wire/provider.ts';
import type { WireStats } from '../../src/domain/wire/stats.ts';
import type { WireWorker } from '../../src/domain/wire/worker.ts';

const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1000).toISOString();
const ms = (seconds: number) => 1_800_000_000_000 + seconds * 1000;

test('output is put together once and in order, and begins anew with a new lease', (t) => {
  const id = 'j';
  let output = ofSnapshot({ lease: 1, seq: 2, text: 'ab', truncated: false });
  output = withChunk(output, { id, lease: 1, seq: 2, text: 'b' });
  output = withChunk(output, { id, lease: 1, seq: 3, text: 'c' });
  t.is(output?.text, 'abc');
  output = withChunk(output, { id, lease: 2, seq: 1, text: 'x' });
  output = withChunk(output, { id, lease: 1, seq: 4, text: 'late' });
  t.deepEqual(output, { lease: 2, seq: 1, text: 'x', isTruncated: false });
  output = withChunk(output, { id, lease: 2, seq: 2, text: 'y'.repeat(outputMax) });
  t.is(output?.text.length, outputMax);
  t.true(output?.isTruncated);
  t.like(withChunk(null, { id, lease: 1, seq: 5, text: 'z' }), { isTruncated: true });
});

const figures = (more: Partial<WireStats> = {}): WireStats => {
  const none = { created: 0, started: 0, requeued: 0, completed: 0, failed: 0, cancelled: 0 };
  const states = {
    'pending.ready': 0,
    'pending.delayed': 0,
    'running.active': 0,
    'running.stuck': 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
  };
  return {
    at: at(0),
    jobs: {
      total: 0,
      by_status: { pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0 },
      by_state: states,
    },
    pending: [],
    slots: { total: 0, taken: 0, workers: [], providers: [] },
    throughput: { last_1m: none, last_5m: none, last_15m: none },
    wait: { count: 0, p50_ms: null, p95_ms: null },
    run: { count: 0, p50_ms: null, p95_ms: null },
    tokens_per_second: { input: 0, output: 0 },
    coordinator: {
      status: 'accepting',
      uptime_seconds: 1,
      store: 'ok',
      journal_bytes: 0,
      event_loop_delay_p99_ms: 1,
      rss_bytes: 1,
    },
    ...more,
  };
};

const worker = (more: Partial<WireWorker>): WireWorker => ({
  id: 'w',
  name: 'box',
  kind: 'local',
  providers: ['echo'],
  models: {},
  tags: [],
  key: null,
  concurrency: 1,
  connected: true,
  paused: false,
  status: 'active',
  running_jobs: [],
  running: 0,
  version: null,
  host: null,
  connected_at: at(0),
  last_heartbeat_at: at(0),
  refusals: [],
  completed: 0,
  failed: 0,
  ...more,
});

const provider = (name: string, status: WireProvider['status']) => ({ name, status }) as WireProvider;
const pending = [{ provider: 'echo', priority: 'normal', ready: 3, oldest_wait_ms: 1_000 }];

test('attention is asked for by what is in the way, the worst first, and by nothing else', (t) => {
  const keys = (...given: Parameters<typeof attentionOf>) => attentionOf(...given).map(({ key }) => key);
  t.deepEqual(keys(figures(), [worker({})], [provider('echo', 'available')], ms(0)), []);
  t.deepEqual(keys(figures({ pending }), [worker({})], [], ms(0)), []);
  t.deepEqual(keys(figures({ pending }), [], [], ms(0)), ['nobody echo']);
  t.deepEqual(keys(figures({ pending }), [worker({ connected: false })], [], ms(60)), [
    'nobody echo',
    'gone w',
  ]);
  t.deepEqual(keys(figures({ pending }), [worker({ paused: true })], [], ms(0)), ['paused echo']);
  t.deepEqual(keys(figures({ pending }), [worker({ concurrency: 0 })], [], ms(0)), ['paused echo']);
  t.deepEqual(keys(figures(), [worker({ connected: false })], [], ms(86_400)), []);
  const error = { class: 'auth', code: 'auth', message: 'bad key', status: 401 } as const;
  const refusals = [
    {
      provider: 'openai',
      model: null,
      fault: 'refused',
      in_row: 1,
      at: at(0),
      until: at(60),
      error,
    } as const,
  ];
  t.deepEqual(keys(figures(), [worker({ refusals })], [], ms(0)), ['aside w openai refused null']);
  const both = [provider('a', 'limited'), provider('b', 'open'), provider('c', 'probing')];
  t.deepEqual(keys(figures(), [], both, ms(0)), ['open b', 'limited a']);
  const long = [{ provider: 'echo', priority: 'normal', ready: 3, oldest_wait_ms: 600_000 }];
  t.deepEqual(keys(figures({ pending: long }), [worker({})], [], ms(0)), ['long echo']);
  const { coordinator } = figures();
  const failing = figures({ coordinator: { ...coordinator, store: 'failing', status: 'draining' } });
  t.deepEqual(keys(failing, [], [], ms(0)), ['store', 'status']);
});
