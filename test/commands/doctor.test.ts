import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { WireRefusal } from '../../src/domain/wire/worker.ts';
import { version } from '../../src/lib/version.ts';
import { type Answer, deadUrl, type Fixture, problem, serve, wireWorker } from '../client/server.ts';
import { serve as serveProvider } from '../conformance/providerWire.ts';
import { refused, silent } from '../fixtures/providers/answers.ts';
import { fakeOllama } from '../fixtures/providers/ollama.ts';
import { emptyFolder, svc } from './cli.ts';

const health: Answer = { json: { status: 'ok', version, uptime_seconds: 5, store: 'ok' } };
const workers: Answer = { json: { workers: [wireWorker()], total: 1 } };
const jobs: Answer = { json: { jobs: [], total: 0, limit: 1, offset: 0 } };

/** A coordinator in which all is well, but for these answers. */
function serveHealthy(
  t: ExecutionContext,
  over: Record<string, Answer> = {},
  takesSockets = true,
): Promise<Fixture> {
  const answers: Record<string, Answer> = {
    '/health': health,
    '/api/workers': workers,
    '/api/jobs': jobs,
    '/api/stats': { json: { pending: [] } },
    '/api/providers': { json: { providers: [], total: 0 } },
    ...over,
  };
  return serve(t, ({ path }) => answers[path] ?? problem(404, 'not_found', 'There is no such route'), {
    takesSockets,
  });
}

test('when all is well it says so line by line and ends with 0', async (t) => {
  const { url } = await serveHealthy(t);
  const { code, stdout, stderr } = await svc(t, ['doctor', '--url', url]);
  t.is(code, 0, stdout);
  t.is(stderr, '');
  const titles = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/).slice(0, 2).join(' '));
  t.deepEqual(titles, [
    'ok Node',
    'ok Configuration',
    'ok Data folder',
    'ok Coordinator',
    'ok Key',
    'ok WebSocket',
    'ok Workers',
  ]);
  t.regex(stdout, new RegExp(`version ${version}`));
  t.regex(stdout, /accepted, from SVC_API_KEY/);
  t.regex(stdout, /1 connected: box-1/);
});

test('a proxy that does not pass upgrades on is a fault that names it', async (t) => {
  const upgrade = { status: 426, json: {}, headers: { server: 'nginx' } };
  const { url } = await serveHealthy(t, { '/ws': upgrade }, false);
  const { code, stdout } = await svc(t, ['doctor', '--url', url]);
  t.is(code, 1);
  t.regex(stdout, /the proxy \(nginx\) does not pass on the upgrade to a WebSocket \(status 426\)/);
  t.regex(stdout, /headers Upgrade and Connection/);
});

test('a key that the coordinator made tells its role', async (t) => {
  const { url } = await serveHealthy(t);
  const { stdout } = await svc(t, ['doctor', '--url', url], {
    env: { SVC_API_KEY: 'svc_operator_0123456789' },
  });
  t.regex(stdout, /role operator/);
});

const faults: [title: string, over: Record<string, Answer>, detail: RegExp, fix: RegExp][] = [
  [
    'a refused key',
    { '/api/jobs': problem(401, 'authentication_failed', 'Authentication failed: unknown') },
    /Key +from SVC_API_KEY: Authentication failed/,
    /export SVC_API_KEY/,
  ],
  [
    'no worker',
    { '/api/workers': { json: { workers: [], total: 0 } } },
    /Workers +none is connected/,
    /svc\.ts worker --provider echo/,
  ],
  [
    'a draining coordinator',
    { '/health': { json: { status: 'draining', version, store: 'ok' } } },
    /draining/,
    /svc coordinator/,
  ],
  [
    'a failing store',
    { '/health': { json: { status: 'degraded', version, store: 'read_only' } } },
    /store: read_only/,
    /df -h/,
  ],
  [
    'something else at the address',
    { '/health': (response) => response.end('<html>') },
    /is this its address/,
    /svc\.ts doctor --url/,
  ],
];

for (const [title, over, detail, fix] of faults) {
  test(`a fault is told with what mends it, and ends with 1: ${title}`, async (t) => {
    const { url } = await serveHealthy(t, over);
    const { code, stdout, stderr } = await svc(t, ['doctor', '--url', url]);
    t.is(code, 1);
    t.regex(stdout, /^FAULT/m);
    t.regex(stdout, detail);
    t.regex(stdout, new RegExp(`fix: .*${fix.source}`));
    t.is(stderr, 'error: 1 fault found\n');
  });
}

test('a worker key is told to be one', async (t) => {
  const { url } = await serveHealthy(t, { '/api/jobs': problem(403, 'forbidden', 'no') });
  const { code, stdout } = await svc(t, ['doctor', '--url', url], {
    env: { SVC_API_KEY: 'svc_worker_0123456789' },
  });
  t.is(code, 1);
  t.regex(stdout, /the key from SVC_API_KEY has the role worker/);
});

test('a paused fleet and another version are warnings, not faults', async (t) => {
  const { url } = await serveHealthy(t, {
    '/health': { json: { status: 'ok', version: '99.0.0', uptime_seconds: 5, store: 'ok' } },
    '/api/workers': { json: { workers: [wireWorker({ paused: true, status: 'paused' })], total: 1 } },
  });
  const { code, stdout } = await svc(t, ['doctor', '--url', url]);
  t.is(code, 0);
  t.regex(stdout, /^warn +Coordinator +this is version .*, the coordinator is 99\.0\.0$/m);
  t.regex(stdout, /none accepts work\n +fix: .*svc\.ts workers resume box-1/);
});

test('a cloud provider without rate-limit handling is a warning that names the line to add', async (t) => {
  const served = { workers: 1, rate_limit: null };
  const providers = [
    { name: 'openai', ...served },
    { name: 'ollama', ...served },
  ];
  const { url } = await serveHealthy(t, { '/api/providers': { json: { providers, total: 2 } } });
  const { code, stdout } = await svc(t, ['doctor', '--url', url]);
  t.is(code, 0);
  t.regex(stdout, /^warn +Limits +a 429 of openai fails its job$/m);
  t.regex(stdout, /providers: \{ defaults: \{ rate_limit: /);
});

test('a worker that is set aside is a warning, with the reason', async (t) => {
  const error = { class: 'auth', code: 'invalid_api_key', message: '401 Unauthorized', status: 401 } as const;
  const gone = { class: 'network', code: 'network', message: 'connection refused', status: null } as const;
  const at = '2026-11-21T08:59:00.000Z';
  const refusals: WireRefusal[] = [
    { provider: 'openai', model: null, fault: 'refused', in_row: 1, at, until: null, error },
    { provider: 'vllm', model: null, fault: 'unreachable', in_row: 3, at, until: at, error: gone },
  ];
  const { url } = await serveHealthy(t, {
    '/api/workers': { json: { workers: [wireWorker({ refusals })], total: 1 } },
  });
  const { code, stdout } = await svc(t, ['doctor', '--url', url]);
  t.is(code, 0);
  t.regex(stdout, /^warn +Workers +box-1 has a key that openai refuses: 401 Unauthorized \(auth\)$/m);
  t.regex(stdout, /^warn +Workers +box-1 cannot reach vllm: connection refused \(network\)$/m);
});

test('jobs for a provider that no connected worker serves are told with their number', async (t) => {
  const group = { priority: 'normal', oldest_wait_ms: 5 };
  const pending = [
    { ...group, provider: 'echo', ready: 9 },
    { ...group, provider: 'opena', ready: 2 },
    { ...group, provider: 'opena', priority: 'high', ready: 1 },
  ];
  const { url } = await serveHealthy(t, { '/api/stats': { json: { pending } } });
  const { code, stdout } = await svc(t, ['doctor', '--url', url]);
  t.is(code, 0);
  t.regex(stdout, /^ok +Workers/m);
  t.regex(
    stdout,
    /^warn +Jobs +3 wait for opena, which no connected worker serves\n +fix: .*svc\.ts worker --provider opena$/m,
  );
  t.notRegex(stdout, /9 wait/);
});

test('a name that somebody else chose stays one word of the command that is told', async (t) => {
  const name = "x; rm -rf ~ 'y'\u001b[2J";
  const word = "'x; rm -rf ~ '\\''y'\\'''";
  const pending = [{ provider: name, ready: 1, priority: 'normal', oldest_wait_ms: 5 }];
  const { url } = await serveHealthy(t, {
    '/api/workers': { json: { workers: [wireWorker({ name, paused: true, status: 'paused' })], total: 1 } },
    '/api/stats': { json: { pending } },
  });
  const { stdout } = await svc(t, ['doctor', '--url', url]);
  t.true(stdout.includes(`svc.ts workers resume ${word}\n`), stdout);
  t.true(stdout.includes(`svc.ts worker --provider ${word}\n`), stdout);
  t.false(stdout.includes('\u001b[2J'));
});

test('without a coordinator it says how to start one', async (t) => {
  const { code, stdout } = await svc(t, ['doctor', '--url', await deadUrl()]);
  t.is(code, 1);
  t.regex(stdout, /^FAULT +Coordinator +cannot reach .*\n +fix: .*svc\.ts coordinator/m);
});

test('a broken configuration is told with every problem, and a key file for others with its chmod', async (t) => {
  const { url } = await serveHealthy(t);
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, 'mine.yaml'), 'prot: 1\nhots: x\n');
  const broken = await svc(t, ['doctor', '--config', 'mine.yaml', '--url', url], { cwd });
  t.is(broken.code, 1);
  t.regex(
    broken.stdout,
    /mine\.yaml:1: prot: unknown key, did you mean port\?\n +mine\.yaml:2: hots: unknown key/,
  );

  await mkdir(join(cwd, 'data'));
  await writeFile(join(cwd, 'data/admin.key'), 'svc_admin_0123456789');
  await chmod(join(cwd, 'data/admin.key'), 0o644);
  const open = await svc(t, ['doctor', '--url', url], { cwd });
  t.is(open.code, 1);
  t.regex(open.stdout, /FAULT +Key file +.*can be read by other users\n +fix: chmod 600 .*admin\.key/);
});

test('a data folder that is a file is a fault', async (t) => {
  const { url } = await serveHealthy(t);
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, 'data'), '');
  const { code, stdout } = await svc(t, ['doctor', '--url', url], { cwd });
  t.is(code, 1);
  t.regex(stdout, /Data folder +.*is not a folder/);
});

test('--json is the findings for programs', async (t) => {
  const { url } = await serveHealthy(t);
  const { stdout } = await svc(t, ['doctor', '--json', '--url', url]);
  const report = JSON.parse(stdout);
  t.true(report.ok);
  t.deepEqual(report.findings[0], { level: 'ok', title: 'Node', detail: process.version, fix: null });
});

/** What `svc doctor` says of the providers, with this configuration. */
async function providerLines(t: ExecutionContext, yaml: string, env: Record<string, string> = {}) {
  const { url } = await serveHealthy(t);
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, 'svc.config.yaml'), yaml);
  const { code, stdout } = await svc(t, ['doctor', '--url', url], { cwd, env });
  return { code, lines: stdout.slice(stdout.search(/^\S+ +Provider/m)) };
}

test('every provider of the worker is asked, and its models are told', async (t) => {
  const ollama = await fakeOllama(t);
  const yaml = `worker: { providers: [ollama, echo] }\nproviders: { ollama: { base_url: "${ollama.url}" } }\n`;
  const { code, lines } = await providerLines(t, yaml);
  t.is(code, 0, lines);
  t.regex(lines, /ok +Provider +ollama answers; 3 models: llama3\.2:latest, llama3\.2, qwen3:8b/);
  t.regex(lines, /ok +Provider +echo is built in/);
});

test('a provider that is not there, has not the model, or has no key is a fault with the line that mends it', async (t) => {
  const ollama = await fakeOllama(t);
  const served = (yaml: string, name: string): string => `worker: { providers: [${name}] }\n${yaml}\n`;
  const cases: [yaml: string, lines: RegExp][] = [
    [
      served('providers: { vllm: { base_url: "http://127.0.0.1:9/v1" } }', 'vllm'),
      /FAULT +Provider +could not connect to the vllm server at http:\/\/127\.0\.0\.1:9\/v1: .*\n +fix: Start it with "vllm serve/,
    ],
    [
      served(`providers: { ollama: { base_url: "${ollama.url}", model: gone } }`, 'ollama'),
      /FAULT +Provider +Model not found: ollama does not report gone .*\n +fix: ollama pull gone/,
    ],
    [served('', 'openai'), /FAULT +Provider +no key for openai: .*\n +fix: export OPENAI_API_KEY=<key>/],
    [served('', 'groq'), /FAULT +Provider +no key for groq: .*\n +fix: export GROQ_API_KEY=<key>/],
    [
      served('', 'wonder'),
      /FAULT +Provider +wonder is not a built-in provider.*\n +fix: providers: \{ wonder: \{ base_url:/,
    ],
  ];
  for (const [yaml, expected] of cases) {
    const { code, lines } = await providerLines(t, yaml);
    t.is(code, 1);
    t.regex(lines, expected);
  }
});

test('a key that is refused is mended where the worker looks for it', async (t) => {
  const server = await serveProvider(t, silent);
  server.notFound = refused({ title: '', status: 401, body: 'no such key', class: 'auth' });
  const cases: [name: string, more: string, fix: RegExp][] = [
    ['mine', ', api_key_env: MY_KEY', /fix: export MY_KEY=<key>$/m],
    ['mine', '', /fix: providers: \{ mine: \{ api_key_env: </],
    // Its usual variable holds a key for another host, which is not sent to this one.
    ['openai', '', /fix: providers: \{ openai: \{ api_key_env: </],
  ];
  for (const [name, more, fix] of cases) {
    const yaml = `worker: { providers: [${name}] }\nproviders: { ${name}: { base_url: "${server.url}/v1"${more} } }\n`;
    const { code, lines } = await providerLines(t, yaml, {
      MY_KEY: 'wrong',
      OPENAI_API_KEY: 'for another host',
    });
    t.is(code, 1);
    t.regex(lines, fix);
  }
});

test('a provider that is only configured may be reached from elsewhere: a warning', async (t) => {
  const { code, lines } = await providerLines(
    t,
    'providers: { vllm: { base_url: "http://127.0.0.1:9/v1" } }',
  );
  t.is(code, 0);
  t.regex(lines, /warn +Provider +could not connect to the vllm server/);
});
