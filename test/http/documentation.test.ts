import { execFile, execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { loadConfig } from '../../src/config/load.ts';
import { errorCodes } from '../../src/domain/errors.ts';
import { silent } from '../../src/lib/log.ts';
import { startService } from '../../src/service.ts';
import { blocksOf, page } from '../documentation/pages.ts';
import { temporaryFolder } from '../support/folder.ts';
import { checkedFetch, operations } from '../support/openapi.ts';

const run = promisify(execFile);
/** The address that the pages suppose. */
const documented = 'http://127.0.0.1:7420';

/** `--fail-with-body` came with curl 7.76, in 2021. */
const hasCurl = (() => {
  try {
    return execFileSync('curl', ['--help', 'all'], { encoding: 'utf8' }).includes('--fail-with-body');
  } catch {
    return false;
  }
})();
const withCurl = hasCurl ? test : test.skip;

/** Examples that are answered something else than JSON. */
const notJson = [
  { asked: /curl -sN/, answered: /^event: snapshot$/m },
  { asked: /\/export/, answered: /^\{"id":"/m },
  { asked: /\/metrics/, answered: /^# TYPE svc_jobs gauge$/m },
  { asked: /results\?format=csv/, answered: /^line_id,status,output/ },
];

/** What a page shows to be run, and the answer that it shows below. */
interface Example {
  script: string;
  /** null when it shows none. */
  answer: unknown;
}

/** The shell blocks of a page that call curl or set variables, each with the JSON below it in the same section. */
function examplesOf(text: string): Example[] {
  const blocks = blocksOf(text);
  return blocks.flatMap(({ kind, text: script }, index) => {
    const next = blocks[index + 1];
    const isRun = kind === 'sh' && /\bcurl\b|^[A-Z]+=\S+$/m.test(script);
    return isRun ? [{ script, answer: next?.kind === 'json' ? JSON.parse(next.text) : null }] : [];
  });
}

/** A coordinator in a folder of its own as `npm start` makes one, with things for the examples to name. */
async function setup(t: ExecutionContext) {
  const cwd = temporaryFolder(t);
  const { config } = await loadConfig({ env: {}, cwd, overrides: { port: 0 } });
  const service = await startService({
    config,
    apiKey: null,
    logger: silent,
    echoWorker: { concurrency: 4 },
  });
  t.teardown(() => service.stop(0));
  const api = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const response = await checkedFetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${service.adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Record<string, unknown>;
  };
  const waiting = await api('POST', '/api/jobs', { prompt: 'x', provider: 'nobody' });
  const params = { echo_fail: 'invalid_request' };
  const failed = await api('POST', '/api/jobs?wait=30', { prompt: 'x', provider: 'echo', params });
  const { workers } = await api('GET', '/api/workers');
  const key = await api('POST', '/api/keys', { role: 'viewer' });
  const names = {
    JOB: String(waiting.id),
    FAILED_JOB: String(failed.id),
    WORKER: String((workers as { id: string }[])[0]?.id),
    KEY_ID: String(key.id),
  };
  return { cwd, url: service.url, names };
}

/** Run the examples of a page in one shell, one after the other. @returns what each printed. */
async function runExamples(t: ExecutionContext, examples: readonly Example[]): Promise<string[]> {
  const { cwd, url, names } = await setup(t);
  const script = [
    'curl() { command curl --fail-with-body "$@"; }',
    ...examples.map(
      ({ script: block }, index) =>
        `{\n${block.replaceAll(documented, url)}} > ${index}.out || exit ${index + 1}`,
    ),
  ].join('\n');
  const { PATH = '' } = process.env;
  const ended = await run('sh', ['-c', script], { cwd, env: { PATH, ...names } }).catch(
    (error: { code: number }) => error.code,
  );
  const last = typeof ended === 'number' ? ended : examples.length;
  const printed = await Promise.all(
    examples.slice(0, last).map((_, index) => readFile(join(cwd, `${index}.out`), 'utf8')),
  );
  if (typeof ended === 'number') t.fail(`${examples[ended - 1]?.script}\n${printed.at(-1)}`);
  return printed;
}

withCurl('the examples of docs/api.md work, and answer what is shown', async (t) => {
  const examples = examplesOf(page('docs/api.md'));
  t.true(examples.filter(({ script }) => script.includes('curl')).length >= 15);
  const printed = await runExamples(t, examples);
  for (const [index, { script, answer }] of examples.entries()) {
    const text = printed[index] ?? '';
    const other = notJson.find(({ asked }) => asked.test(script));
    if (other !== undefined) t.regex(text, other.answered);
    if (other !== undefined || !script.includes('curl')) continue;
    const real: unknown = JSON.parse(text);
    if (answer !== null) t.deepEqual(shapeOf(real), shapeOf(answer), script);
  }
});

test('docs/api.md tells of every route and of every error', (t) => {
  const text = page('docs/api.md');
  for (const { method, path } of operations) {
    const start = path.replaceAll(/\{\w+\}.*/g, '');
    t.true(text.includes(start), `${method} ${path}`);
  }
  for (const code of errorCodes) t.true(text.includes(`\`${code}\``), code);
});

/** Names and types without values; a list is as its first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, shapeOf(member)] as const)
      .sort(([a], [b]) => a.localeCompare(b)),
  );
}
