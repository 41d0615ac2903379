import test from 'ava';
import { deadUrl, jobId, problem, serve } from '../client/server.ts';
import { svc, svcProcess } from './cli.ts';

const commands = [
  [],
  ['coordinator'],
  ['worker'],
  ['demo'],
  ['run'],
  ['jobs'],
  ['jobs', 'list'],
  ['jobs', 'get'],
  ['jobs', 'cancel'],
  ['jobs', 'retry'],
  ['jobs', 'watch'],
  ['jobs', 'export'],
  ['workers'],
  ['workers', 'list'],
  ['workers', 'get'],
  ['workers', 'pause'],
  ['workers', 'resume'],
  ['workers', 'resize'],
  ['workers', 'forget'],
  ['providers'],
  ['providers', 'list'],
  ['providers', 'reset'],
  ['keys'],
  ['keys', 'list'],
  ['keys', 'create'],
  ['keys', 'rotate'],
  ['keys', 'revoke'],
  ['cost'],
  ['cost', 'summary'],
  ['cost', 'breakdown'],
  ['config'],
  ['config', 'check'],
  ['config', 'show'],
  ['doctor'],
];

for (const command of commands) {
  test(`${['svc', ...command].join(' ')} --help shows usage, examples and exit codes`, async (t) => {
    const { code, stdout, stderr } = await svc(t, [...command, '--help']);
    t.is(code, 0);
    t.is(stderr, '');
    t.true(stdout.startsWith(`Usage: ${['svc', ...command].join(' ')} `), stdout.slice(0, 80));
    t.regex(stdout, /Examples:/);
    t.regex(stdout, /Exit codes:/);
  });
}

test('svc help <command> is the same as --help', async (t) => {
  const { code, stdout, stderr } = await svc(t, ['help', 'jobs']);
  t.is(code, 0);
  t.is(stderr, '');
  t.is(stdout, (await svc(t, ['jobs', '--help'])).stdout);
});

for (const run of [svc, svcProcess]) {
  test(`--version prints the version: ${run.name}`, async (t) => {
    const { code, stdout } = await run(t, ['--version']);
    t.is(code, 0);
    t.regex(stdout, /^\d+\.\d+\.\d+\n$/);
  });
}

const wrong: [args: string[], stderr: RegExp][] = [
  [['wroker'], /unknown command 'wroker'; did you mean worker\?\n\(svc --help shows how\)/],
  [['nope'], /unknown command 'nope'; the commands are: coordinator, worker, /],
  [['nope', '--help'], /unknown command 'nope'; the commands are: coordinator, worker, /],
  [['--url', 'http://127.0.0.1:1', 'nope', '-h'], /unknown command 'nope'/],
  [['jobs', 'lst'], /unknown command 'lst'; did you mean list\?\n\(svc jobs --help shows how\)/],
  [['jobs', 'lst', '--help'], /unknown command 'lst'; did you mean list\?/],
  [['jobs', 'list', '--stat', 'x'], /unknown option '--stat'[\s\S]*svc jobs list --help shows how/],
  [['jobs', 'list', '--limit', '0'], /whole number from 1 to 1000/],
  [['jobs', 'list', '--since', 'soon'], /must be a time such as/],
  [['jobs', 'get'], /missing required argument 'id'/],
  [['run'], /give a prompt or --file; svc run --help shows how/],
  [['run', 'x', '--wait', '-1'], /number of seconds/],
  [['run', 'x', '--param', 'nothing'], /--param must be name=value/],
  [['run', 'x', '--input', '@nowhere.txt'], /--input: nowhere.txt cannot be read/],
  [['--url', 'localhost:1', 'jobs', 'list'], /--url must be an address such as/],
  [['--key-file', 'nowhere', 'jobs', 'list'], /--key-file nowhere cannot be read/],
  [['demo', '--port', '70000'], /from 0 to 65535/],
  [[], /Usage: svc/],
  [['workers'], /Usage: svc workers/],
  [['help', 'jbos'], /unknown command 'jbos'; did you mean jobs\?/],
  [['jobs', 'help', 'lst'], /unknown command 'lst'; did you mean list\?/],
  [['keys', 'create'], /required option '--role <role>' not specified/],
  [['keys', 'create', '--role', 'boss'], /Allowed choices are viewer, client, operator, admin, worker/],
  [['keys', 'rotate', 'box-1', '--grace', 'long'], /number of seconds/],
];

for (const [args, expected] of wrong) {
  test(`wrong usage ends with 2: ${['svc', ...args].join(' ')}`, async (t) => {
    const { code, stdout, stderr } = await svc(t, args);
    t.is(code, 2);
    t.is(stdout, '');
    t.regex(stderr, expected);
  });
}

test('wrong usage ends a process with 2 too: svc coordinator --port 70000', async (t) => {
  const { code, stdout, stderr } = await svcProcess(t, ['coordinator', '--port', '70000']);
  t.is(code, 2);
  t.is(stdout, '');
  t.regex(
    stderr,
    /^error: The configuration cannot be used:\n {2}--port: must be a whole number from 0 to 65535/,
  );
});

test('a process says the same as its commands: help, wrong usage, a refusal, an answer', async (t) => {
  const { url } = await serve(t, ({ path }) =>
    path === '/api/workers' ? { json: { workers: [], total: 0 } } : problem(404, 'not_found', 'So it is not'),
  );
  const cases: [args: string[], code: number][] = [
    [['run', '--help'], 0],
    [['jobs', 'lst'], 2],
    [['run', '--url', url], 2],
    [['jobs', 'get', jobId, '--url', url], 5],
    [['workers', 'list', '--json', '--url', url], 0],
  ];
  for (const [args, code] of cases) {
    const ended = await svcProcess(t, args);
    t.is(ended.code, code);
    t.deepEqual(ended, await svc(t, args));
  }
});

test('a configuration that cannot be used ends with 2 and every problem', async (t) => {
  const env = { SVC_API_KEY: 'short', SVC_PORT: 'x' };
  const { code, stderr } = await svc(t, ['jobs', 'list'], { env });
  t.is(code, 2);
  t.regex(stderr, /SVC_API_KEY: must have at least 16/);
  const named = await svc(t, ['jobs', 'list'], { env: { SVC_CONFIG: 'nowhere.yaml' } });
  t.is(named.code, 2);
  t.regex(named.stderr, /nowhere\.yaml: no such file \(named by SVC_CONFIG\)/);
});

const refusals: [status: number, code: string, exitCode: number][] = [
  [400, 'invalid_request', 2],
  [401, 'authentication_failed', 4],
  [403, 'forbidden', 4],
  [404, 'not_found', 5],
  [409, 'invalid_transition', 5],
  [429, 'queue_full', 1],
  [500, 'internal_error', 1],
  [503, 'draining', 1],
];

for (const [status, code, exitCode] of refusals) {
  test(`a coordinator that answers ${status} ends the command with ${exitCode} and its own words`, async (t) => {
    const { url } = await serve(t, () => problem(status, code, 'So it is not'));
    const ended = await svc(t, ['workers', 'list', '--url', url]);
    t.is(ended.code, exitCode);
    t.is(ended.stdout, '');
    t.regex(ended.stderr, /^error: So it is not\n/);
  });
}

test('a coordinator that is not there ends the command with 3 and what to do', async (t) => {
  const url = await deadUrl();
  const { code, stderr } = await svc(t, ['--url', url, 'jobs', 'list']);
  t.is(code, 3);
  t.regex(stderr, /cannot reach the coordinator at .*ECONNREFUSED.*start it with svc coordinator/);
});

test('a pipe that is closed early is no failure', async (t) => {
  const { url } = await serve(t, () => ({ json: { workers: [], total: 0, filler: 'x'.repeat(4_000_000) } }));
  const { code, stderr } = await svcProcess(t, ['--url', url, 'workers', 'list', '--json'], {
    closesOutput: true,
  });
  t.is(code, 0);
  t.is(stderr, '');
});
