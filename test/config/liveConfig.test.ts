import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { LiveConfig } from '../../src/config/liveConfig.ts';
import { ConfigError, type LoadOptions, loadConfig } from '../../src/config/load.ts';
import { silent } from '../../src/lib/log.ts';
import { folderWith } from './folder.ts';

/** A configuration that is read from a file of this text, and the way to write another text there. */
async function setup(t: ExecutionContext, yaml: string, options: Partial<LoadOptions> = {}) {
  const cwd = await folderWith(t, { 'svc.config.yaml': yaml });
  const from = { env: {}, cwd, ...options };
  const live = LiveConfig.ofFile(await loadConfig(from), from, silent);
  const write = (text: string) => writeFile(join(cwd, 'svc.config.yaml'), text);
  return { live, cwd, write };
}

test('a reload puts the new file in force and tells every key that has changed', async (t) => {
  const { live, write } = await setup(t, 'jobs: { max_attempts: 2 }\nproviders: { a: { model: x } }\n');
  await write('jobs: { max_attempts: 5 }\nrouting: { strategy: fallback, chain: [echo] }\n');
  const { changed, needsRestart, warnings } = await live.reload();

  t.deepEqual(
    changed.filter(({ key }) => !key.startsWith('providers.a.breaker')),
    [
      { key: 'jobs.max_attempts', from: 2, to: 5 },
      { key: 'providers.a.model', from: 'x', to: null },
      { key: 'routing.strategy', from: 'direct', to: 'fallback' },
      { key: 'routing.chain', from: [], to: ['echo'] },
    ],
  );
  t.deepEqual([needsRestart, warnings], [[], []]);
  t.is(live.current.jobs.maxAttempts, 5);
  t.is(live.sources['routing.strategy'], 'file');
});

test('a file with faults leaves the old configuration in force, as a whole', async (t) => {
  const { live, write } = await setup(t, 'jobs: { max_attempts: 2 }\n');
  const before = live.current;
  await write('jobs:\n  max_attempts: 5\n  max_reap: 1\nprot: 1\n');
  const error = await t.throwsAsync(live.reload(), { instanceOf: ConfigError });
  t.deepEqual(error?.message.split('\n'), [
    'svc.config.yaml:3: jobs.max_reap: unknown key, did you mean max_reaps?',
    'svc.config.yaml:4: prot: unknown key, did you mean port?',
  ]);
  t.is(live.current, before);

  await write('jobs: { max_attempts: 5 }\n');
  await live.reload();
  t.is(live.current.jobs.maxAttempts, 5);
});

test('what only a restart can change keeps its value and its source, and is named until then', async (t) => {
  const { live, write } = await setup(t, 'port: 1\njobs: { priorities: { normal: 0, high: 5 } }\n');
  await write(
    `host: 0.0.0.0
port: 2
store: { path: elsewhere }
log: { level: warn }
http: { fronts: 3, max_connections: 9, head_timeout_seconds: 9, body_timeout_seconds: 9, unread_timeout_seconds: 9 }
jobs: { priorities: { normal: 0, high: 9, top: 10 }, heartbeat_interval_seconds: 2, timeout_seconds: 7 }
`,
  );
  const { store } = live.current;
  const waiting = [
    'host',
    'port',
    'store.path',
    'http.fronts',
    'http.max_connections',
    'http.head_timeout_seconds',
    'http.body_timeout_seconds',
    'jobs.heartbeat_interval_seconds',
    'jobs.priorities.high',
    'jobs.priorities.top',
  ];
  const first = await live.reload();
  t.deepEqual(first.needsRestart.toSorted(), waiting.toSorted());
  t.deepEqual(first.changed, [
    { key: 'jobs.timeout_seconds', from: 600, to: 7 },
    { key: 'http.unread_timeout_seconds', from: 60, to: 9 },
    { key: 'log.level', from: 'info', to: 'warn' },
  ]);
  t.is(live.current.store, store);
  t.like(live.current, { host: '127.0.0.1', port: 1, jobs: { heartbeatIntervalSeconds: 10 } });
  t.deepEqual({ ...live.current.jobs.priorities }, { normal: 0, high: 5 });
  t.like(live.sources, { host: 'default', port: 'file', 'log.level': 'file', 'store.path': 'default' });
  t.false('jobs.priorities.top' in live.sources);

  const second = await live.reload();
  t.deepEqual([second.changed, second.needsRestart.length], [[], waiting.length]);
  t.deepEqual([...live.needsRestart], second.needsRestart);
});

test('a flag or a variable goes on to win over the file', async (t) => {
  const { live, write } = await setup(t, '', { env: { SVC_LOG_LEVEL: 'error' }, overrides: { port: '5' } });
  await write('log: { level: debug }\nport: 6');
  const { changed, needsRestart } = await live.reload();
  t.deepEqual([changed, needsRestart], [[], []]);
  t.is(live.current.log.level, 'error');
});

test('a changed secret is told without its value', async (t) => {
  const { live, write } = await setup(
    t,
    'worker: { api_key: old-old-old-old-1 }\npublic_url: https://a:first-secret@host.example/x\n',
  );
  await write('worker: { api_key: new-new-new-new-2 }\npublic_url: https://a:other-secret@host.example/x\n');
  const { changed } = await live.reload();
  const url = 'https://a:[hidden]@host.example/x';
  t.deepEqual(changed, [
    { key: 'public_url', from: url, to: url },
    { key: 'worker.api_key', from: '[hidden]', to: '[hidden]' },
  ]);
});

test('the very file that was read must still be there; without one, a file that has come is read', async (t) => {
  const { live, cwd } = await setup(t, 'jobs: { max_attempts: 2 }');
  await writeFile(join(cwd, 'svc.config.json'), '{"jobs": {"max_attempts": 9}}');
  await rm(join(cwd, 'svc.config.yaml'));
  await t.throwsAsync(live.reload(), { message: 'svc.config.yaml: no such file any more' });
  t.is(live.current.jobs.maxAttempts, 2);

  const empty = await folderWith(t);
  const from = { env: {}, cwd: empty };
  const none = LiveConfig.ofFile(await loadConfig(from), from, silent);
  await writeFile(join(empty, 'svc.config.json'), '{"jobs": {"max_attempts": 9}}');
  await none.reload();
  t.is(none.current.jobs.maxAttempts, 9);
  t.is(none.file, join(empty, 'svc.config.json'));
});

test('reloads come one after the other, and listeners hear only of changes', async (t) => {
  const { live, write } = await setup(t, 'jobs: { max_attempts: 2 }');
  const heard: number[] = [];
  live.onChange(() => heard.push(live.current.jobs.maxAttempts));
  await write('jobs: { max_attempts: 3 }');
  const results = await Promise.all([live.reload(), live.reload(), live.reload()]);
  t.deepEqual(
    results.map(({ changed }) => changed.length),
    [1, 0, 0],
  );
  t.deepEqual(heard, [3]);
});

test('a configuration without a file reloads to itself', async (t) => {
  const { config } = await loadConfig({ env: {}, cwd: await folderWith(t) });
  const live = LiveConfig.of(config);
  t.deepEqual(await live.reload(), { changed: [], needsRestart: [], warnings: [] });
  t.deepEqual(live.current, config);
  t.is(live.sources.port, 'default');
});
