import test from 'ava';
import { attentionOf } from '../../src/dashboard/pages/overview/attention.ts';
import type { WireProvider } from '../../src/domain/wire/provider.ts';
import type { WireStats } from '../../src/domain/wire/stats.ts';
import type { WireRefusal, WireWorker } from '../../src/domain/wire/worker.ts';

const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1000).toISOString();
const ms = (seconds: number) => 1_800_000_000_000 + seconds * 1000;

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
    refused_workers: [],
    slots: { total: 0, taken: 0, workers: [], providers: [] },
    throughput: { last_1m: none, last_5m: none, last_15m: none },
    wait: { count: 0, p50_ms: null, p95_ms: null },
    run: { count: 0, p50_ms: null, p95_ms: null },
    tokens_per_second: { input: 0, output: 0 },
    queue: { paused: false, since: null, by: null, reason: null },
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
  t.deepEqual(keys(figures({ pending }), [], [], ms(0)), ['unserved echo']);
  t.deepEqual(keys(figures({ pending }), [worker({ connected: false })], [], ms(60)), [
    'unserved echo',
    'gone w',
  ]);
  t.deepEqual(keys(figures({ pending }), [worker({ paused: true })], [], ms(0)), ['idle echo']);
  t.deepEqual(keys(figures({ pending }), [worker({ concurrency: 0 })], [], ms(0)), ['idle echo']);
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
  t.deepEqual(keys(figures({ pending: long }), [worker({})], [], ms(0)), ['long echo']);
  const { coordinator } = figures();
  const failing = figures({ coordinator: { ...coordinator, store: 'failing', status: 'draining' } });
  t.deepEqual(keys(failing, [], [], ms(0)), ['store', 'status']);
});

const long = [{ provider: 'echo', priority: 'normal', ready: 3, oldest_wait_ms: 600_000 }];
/** The advice for jobs that wait long for `echo`. */
function adviceFor(
  workers: WireWorker[],
  more: Partial<WireProvider> = {},
  slots: { taken: number; free: number } = { taken: 1, free: 0 },
): string | undefined {
  const providers = [{ provider: 'echo', total: 1, ...slots }];
  const given = figures({ pending: long, slots: { total: 1, taken: 1, workers: [], providers } });
  const known = { ...provider('echo', 'available'), max_concurrent: null, ...more };
  return attentionOf(given, workers, [known], ms(0)).find(({ key }) => key === 'long echo')?.advice;
}

test('more slots are advised only where slots are what is missing', (t) => {
  t.regex(adviceFor([worker({})]) ?? '', /more workers or slots start them sooner/);
  t.regex(adviceFor([worker({}), worker({ id: 'p', paused: true })]) ?? '', /resume a paused worker/);
  const refusal = { provider: 'echo', model: null, fault: 'unreachable', in_row: 1, at: at(0), until: null };
  const error = { class: 'network', code: 'refused', message: 'refused', status: null } as const;
  const aside = worker({ id: 'a', refusals: [{ ...refusal, error } as WireRefusal] });
  const cases: [RegExp, string | undefined][] = [
    [/limit is reached, so more slots do not help/, adviceFor([worker({})], { status: 'limited' })],
    [/stopped after failures, so more slots do not help/, adviceFor([worker({})], { status: 'open' })],
    [/whether it works again/, adviceFor([worker({})], { status: 'probing' })],
    [
      /max_concurrent of 1 is reached, so more slots do not help/,
      adviceFor([worker({})], { max_concurrent: 1 }),
    ],
    [/set aside after failures: fix/, adviceFor([aside], {}, { taken: 0, free: 1 })],
    [/Fix 1 worker set aside/, adviceFor([aside, worker({})])],
    [/wait for something else/, adviceFor([worker({})], {}, { taken: 0, free: 1 })],
  ];
  for (const [expected, advice] of cases) {
    t.regex(advice ?? '', expected);
    t.notRegex(advice ?? '', /slots start them sooner|quicker/);
  }
  t.regex(adviceFor([worker({})], { max_concurrent: 2 }) ?? '', /more workers or slots/);
});

test('a hundred providers that clients made up, and as many workers that left, are one line each', (t) => {
  const group = { priority: 'normal', ready: 2, oldest_wait_ms: 1_000 };
  const names = (many: number) => Array.from({ length: many }, (_, n) => `p${n}`);
  const found = (many: number) =>
    attentionOf(
      figures({ pending: names(many).map((name) => ({ ...group, provider: name })) }),
      names(many).map((name) => worker({ id: name, name, connected: false })),
      names(many).map((name) => provider(name, 'open')),
      ms(60),
    );
  t.is(found(3).length, 9);
  t.deepEqual(
    found(100).map(({ key, text }) => [key, text]),
    [
      ['unserved', 'Jobs wait for 100 providers that no worker serves'],
      ['open', '100 providers stopped: too many attempts failed'],
      ['gone', '100 workers disconnected'],
    ],
  );
  // Beyond a hundred groups the coordinator reports the small ones together, under a name that is no provider.
  const many = [...names(100), 'other'].map((name) => ({ ...group, provider: name }));
  t.deepEqual(
    attentionOf(figures({ pending: many }), [], [], ms(0)).map(({ text }) => text),
    ['Jobs wait for 100 providers that no worker serves'],
  );
});

test('a paused queue is one line that says who paused it and why, and no wait is put down to workers', (t) => {
  const { coordinator } = figures();
  const queue = { paused: true, since: at(0), by: { key_id: 'k', name: 'ada' }, reason: 'new prices' };
  const given = figures({ queue, pending: long, coordinator: { ...coordinator, status: 'paused' } });
  t.deepEqual(
    attentionOf(given, [], [], ms(0)).map(({ key, text }) => [key, text]),
    [['queue', 'The queue is paused by ada: new prices']],
  );
  const nameless = figures({ queue: { ...queue, by: { key_id: 'k', name: null }, reason: null } });
  t.is(attentionOf(nameless, [], [], ms(0))[0]?.text, 'The queue is paused by k');
  t.is(
    attentionOf(figures({ queue: { ...queue, by: null } }), [], [], ms(0))[0]?.text,
    'The queue is paused: new prices',
  );
});

test('while the coordinator starts no jobs, no wait is put down to workers', (t) => {
  const { coordinator } = figures();
  const given = figures({ pending: long, coordinator: { ...coordinator, status: 'draining' } });
  t.deepEqual(
    attentionOf(given, [], [], ms(0)).map(({ key, advice }) => [key, advice]),
    [['status', 'It is shutting down: waiting jobs are kept for its next start.']],
  );
});
