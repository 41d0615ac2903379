import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { bulkFilter } from '../../../src/client/client.ts';
import { createProgram, runProgram } from '../../../src/commands/program.ts';
import { runCommand } from '../../../src/commands/run.ts';
import { runsCommand } from '../../../src/commands/runs/runs.ts';
import { deadUrl } from '../../client/server.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { adminKey, startCoordinator, startSvc, startWorker, until } from '../../support/process.ts';
import { type Here, startHere } from '../../support/service.ts';
import { fakeIo } from '../screens.ts';

// Every command of this process listens for Ctrl-C.
process.setMaxListeners(0);

/** A folder beside a coordinator, and `svc …` in it, all in this process. */
async function startAll(t: ExecutionContext, config: Record<string, unknown> = {}) {
  const running = await startHere(t, { config, workers: 20 });
  return { running, ...shellIn(temporaryFolder(t), running.url) };
}

function shellIn(cwd: string, url: string) {
  const svc = async (...args: string[]) => {
    const { io, out, err } = fakeIo({ cwd, env: { SVC_API_KEY: adminKey } });
    let streamed = '';
    io.stdout.on('data', (bytes: Buffer) => {
      streamed += bytes.toString();
    });
    const code = await runProgram(
      createProgram([runCommand(io), runsCommand(io)], io),
      [...args, '--url', url],
      io,
    );
    return { code, out: out() + streamed, err: err() };
  };
  const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);
  const read = (name: string) => readFileSync(join(cwd, name), 'utf8');
  return { cwd, svc, write, read };
}

const ndjsonOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const total = async ({ client }: Here) => (await client.jobs({ limit: 1 })).total;

test('a table runs once, and again only with what is new', async (t) => {
  const { running, svc, write, read, cwd } = await startAll(t);
  const rows = (count: number) =>
    `id,title\r\n${Array.from({ length: count }, (_, index) => `d${index},"T, ${index}"\r\n`).join('')}`;
  write('a.csv', rows(30));
  const again = (...more: string[]) =>
    svc('run', '--file', 'a.csv', '--run', 'r1', '--id-column', 'id', '--template', 'Say {{title}}', ...more);
  const first = await again('--provider', 'echo', '--output', 'a.out.csv');
  t.is(first.code, 0, first.err);
  t.is(first.out, '');
  const lines = read('a.out.csv').trimEnd().split('\r\n');
  t.is(lines.length, 31);
  t.regex(lines[8] ?? '', /^d7,"T, 7",completed,".*Say T, 7.*",,echo,echo,\d+,\d+,0,1,[0-9a-f-]{36}$/);
  write('a.csv', rows(32));
  const second = await again('--output', 'a.out.jsonl', '--output-format', 'openai');
  t.is(second.code, 0, second.err);
  t.is(await total(running), 32);
  const answers = ndjsonOf(read('a.out.jsonl'));
  t.deepEqual([answers.length, answers[31].custom_id, answers[31].response.status_code], [32, 'd31', 200]);
  // To standard output, and as they come into a file.
  const printed = ndjsonOf((await again()).out);
  t.deepEqual([printed.length, printed[3].line, printed[3].custom_id], [32, 5, 'd3']);
  t.is((await again('--output', 'grown.ndjson', '--follow')).code, 0);
  t.deepEqual(ndjsonOf(read('grown.ndjson')), printed);
  t.is(await total(running), 32);
  t.deepEqual(readdirSync(cwd).sort(), ['a.csv', 'a.out.csv', 'a.out.jsonl', 'grown.ndjson']);

  // An estimate and a sample of a file that was never sent.
  write(
    'b.ndjson',
    Array.from({ length: 9 }, (_, index) => `{"custom_id": ${index}, "prompt": "p"}`).join('\n'),
  );
  const estimate = await svc('run', '--file', 'b.ndjson', '--provider', 'echo', '--estimate', '--json');
  t.like(JSON.parse(estimate.out), { lines: 9, input_tokens: 3, output_tokens: 9 * 1_024, cost_usd: 0 });
  t.is(estimate.err, '');
  t.is(await total(running), 32);
  const asked = await svc('run', '--file', 'b.ndjson', '--provider', 'echo', '--sample', '2');
  t.is(asked.code, 2);
  t.regex(asked.err, /without a terminal give --yes/);
  const sampled = await svc('run', '--file', 'b.ndjson', '--provider', 'echo', '--sample', '2', '--yes');
  t.is(sampled.code, 0, sampled.err);
  t.regex(sampled.err, /2 lines cost \$0; all 9 lines: about \$0/);
  t.is(ndjsonOf(sampled.out).length, 9);
  t.is(await total(running), 41);
  const name = /^Run (b-\S+) /m.exec(sampled.err)?.[1] ?? '';
  t.is((await running.client.run(name)).counts.completed, 9);
});

test('failures are said with the command that sends them again, and every command about a run works', async (t) => {
  const { running, svc, write } = await startAll(t);
  const fail = { echo_fail: 'invalid_request' };
  const lines = Array.from({ length: 8 }, (_, index) =>
    JSON.stringify({ custom_id: `f${index}`, prompt: 'p', params: index % 4 === 0 ? fail : {} }),
  );
  write('f.jsonl', lines.join('\n'));
  const ran = await svc('run', '--file', 'f.jsonl', '--run', 'fails', '--provider', 'echo');
  t.is(ran.code, 1);
  t.regex(ran.err, /2 × invalid_request.*\n {4}svc runs retry fails --class invalid_request\n/);
  t.regex(ran.err, /6 of 8 lines completed, 2 failed/);
  t.deepEqual(
    ndjsonOf(ran.out).map(({ status }) => status),
    ['failed', 'completed', 'completed', 'completed', 'failed', 'completed', 'completed', 'completed'],
  );
  t.regex((await svc('runs', 'list')).out, /^NAME.*\nfails +completed +8 +100 % +2 /);
  t.is(JSON.parse((await svc('runs', 'list', '--json')).out).total, 1);
  t.regex((await svc('runs', 'status', 'fails')).out, /Jobs +6 completed, 2 failed\n/);
  t.regex((await svc('runs', 'retry', 'fails', '--class', 'server_error')).out, /^0 jobs requeued/);
  t.regex((await svc('runs', 'retry', 'fails')).out, /^2 jobs requeued/);
  const watched = await svc('runs', 'watch', 'fails');
  t.is(watched.code, 1);
  t.regex(watched.err, /6 of 8 jobs completed/);
  const results = await svc('runs', 'results', 'fails', '--output-format', 'csv');
  t.is(results.out.split('\r\n').length, 10);
  t.is((await svc('runs', 'status', 'none')).code, 5);
  t.is((await svc('runs', 'list', '--status', 'wrong')).code, 2);

  write(
    'slow.jsonl',
    Array.from({ length: 40 }, () => '{"prompt": "p", "params": {"echo_delay_ms": 300}}').join('\n'),
  );
  const sent = await svc('run', '--file', 'slow.jsonl', '--run', 'slow', '--provider', 'echo', '--detach');
  t.deepEqual([sent.code, sent.out], [0, 'slow\n']);
  t.regex((await svc('runs', 'pause', 'slow')).out, /^slow {2}paused/);
  const paused = await svc('run', '--file', 'slow.jsonl', '--run', 'slow');
  t.is(paused.code, 1);
  t.regex(paused.err, /Run slow is paused: .*\n {2}svc runs resume slow lets it go on/);
  t.regex((await svc('runs', 'resume', 'slow', '--max-failures', '3')).out, /^slow {2}running/);
  t.is((await running.client.run('slow')).max_failures, 3);
  t.regex((await svc('runs', 'cancel', 'slow')).out, /^slow {2}cancelled/);
  const refused = await svc('run', '--file', 'slow.jsonl', '--run', 'slow');
  t.is(refused.code, 5);
  t.regex(refused.err, /was cancelled and takes no more jobs/);
});

test('a budget pauses the run, says how to go on, and a higher one does', async (t) => {
  const pricing = { echo: { gold: { input_per_million: 1000, output_per_million: 1000 } } };
  const { running, svc, write, read } = await startAll(t, { pricing });
  const params = { echo_tokens: { input: 500, output: 500 } };
  const line = (index: number) =>
    JSON.stringify({ custom_id: `m${index}`, prompt: 'p', model: 'gold', params });
  write('m.jsonl', Array.from({ length: 12 }, (_, index) => line(index)).join('\n'));
  const run = (...more: string[]) =>
    svc('run', '--file', 'm.jsonl', '--run', 'money', '--provider', 'echo', '--output', 'm.csv', ...more);
  const first = await run('--max-cost', '5');
  t.is(first.code, 1);
  t.regex(first.err, /Run money is paused: .*\n {2}svc runs resume money --max-cost <USD> lets it go on/);
  t.regex(first.err, /[1-5] of 12 lines completed, \d+ not ended; answers in m\.csv/);
  t.true((await running.client.run('money')).cost_usd <= 5);
  t.is(read('m.csv').trimEnd().split('\r\n').length, 13);
  const second = await run('--max-cost', '50');
  t.is(second.code, 0, second.err);
  t.regex(second.err, /goes on with the new limits/);
  t.is((await running.client.run('money')).cost_usd, 12);
});

test('Ctrl-C leaves the run going and no half file; after a kill of the coordinator the same command goes on', async (t) => {
  const running = await startCoordinator(t);
  startWorker(t, running, ['--concurrency', '20']);
  const { svc, write, read, cwd } = shellIn(temporaryFolder(t), running.url);
  const line = (index: number) =>
    `{"custom_id": "n${index}", "prompt": "p${index}", "params": {"echo_delay_ms": 100}}`;
  write('n.ndjson', Array.from({ length: 120 }, (_, index) => line(index)).join('\n'));
  const args = ['run', '--file', join(cwd, 'n.ndjson'), '--run', 'long', '--provider', 'echo'];
  const output = ['--output', join(cwd, 'n.out.ndjson')];
  const stopped = startSvc(t, [...args, ...output, '--url', running.url]);
  await until('some jobs have ended', async () => {
    const run = await running.client.run('long').catch(() => null);
    return run !== null && run.counts.completed > 5;
  });
  stopped.signal('SIGINT');
  t.is((await stopped.exited).code, 130);
  t.regex(stopped.err, /Run long goes on.*\n.*svc runs watch long .* svc runs cancel long /);
  t.false(existsSync(join(cwd, 'n.out.ndjson')));
  t.deepEqual(readdirSync(cwd), ['n.ndjson']);
  await running.process.kill();
  // It waits for a coordinator that is away.
  const second = svc(...args, ...output);
  const back = await running.again();
  const { code, err } = await second;
  t.is(code, 0, err);
  const answers = ndjsonOf(read('n.out.ndjson'));
  t.deepEqual(
    answers.map(({ custom_id, status }) => [custom_id, status]),
    Array.from({ length: 120 }, (_, index) => [`n${index}`, 'completed']),
  );
  t.is(await total(back), 120);
});

test('that nobody serves the provider is said at once, and a wait that is over leaves the run going', async (t) => {
  const { client, url } = await startHere(t);
  const { svc, write } = shellIn(temporaryFolder(t), url);
  write('a.txt', 'one\ntwo\n');
  const { code, err, out } = await svc('run', '--file', 'a.txt', '--provider', 'echo', '--wait', '5');
  t.is(code, 124);
  t.is(out, '');
  t.regex(err, /Jobs wait: No connected worker serves the provider echo/);
  const name =
    /^Run (a-\S+) goes on\. The same command with --run \1 waits for it again/m.exec(err)?.[1] ?? '';
  t.is((await client.run(name)).counts.pending, 2);
  const { changed } = await client.cancelMany({ filter: bulkFilter({ run: name }) });
  t.is(changed, 2);
  const again = await svc('run', '--file', 'a.txt', '--run', name, '--model', 'other');
  t.is(again.code, 1);
  t.regex(again.err, /lines that are new to it get your model/);
  t.regex(again.err, /0 of 2 lines completed, 2 cancelled/);
});

test('nothing is sent of a file with faults, without a coordinator, or with options that do not fit', async (t) => {
  const { cwd, svc, write } = shellIn(temporaryFolder(t), await deadUrl());
  write('a.csv', 'id,title\n1,x\n1,y\n2\n');
  const told = async (args: string[], message: RegExp, code = 2) => {
    const ended = await svc('run', ...args);
    t.regex(ended.err, message);
    t.is(ended.code, code);
  };
  const table = ['--file', 'a.csv', '--prompt-column', 'title'];
  await told(
    [...table, '--id-column', 'id'],
    /a\.csv:3: has the id "1", as line 2 has\na\.csv:4: has 1 cell and the header has 2/,
  );
  await told(['--file', 'a.csv'], /--prompt-column/);
  await told(['--file', 'none'], /none does not exist/);
  await told([...table, '--run', 'a b'], /--run must be/);
  await told([...table, '--output', 'none/a.csv'], /cannot be written/);
  await told([...table, '--output', 'a.csv'], /it is the file with the prompts/);
  await told([...table, '--output', cwd], /it is a folder/);
  await told([...table, '--follow'], /--follow needs --output/);
  t.is((await svc('run', ...table, '--deadline', 'soon')).code, 2);
  t.is((await svc('run', ...table, '--max-cost', '0')).code, 2);
  await told(['hello', '--max-cost', '1'], /--max-cost needs --file/);
  await told(['hello', '--file', 'a.csv', '--input', 'x'], /cannot be used together/);
  write('a.txt', 'one\n');
  await told(['--file', 'a.txt'], /is the coordinator running/, 3);
});

test('answers are held against a schema, and a run keeps the schema that it was made with', async (t) => {
  const { svc, write, read } = await startAll(t);
  const line = (id: string, output: string) =>
    JSON.stringify({ custom_id: id, prompt: 'x', params: { echo_output: output } });
  write('a.ndjson', `${line('good', '{"label": "good"}')}\n${line('bad', 'no label')}\n`);
  write('label.json', JSON.stringify({ type: 'object', required: ['label'] }));
  write('other.json', 'true');
  write('broken.json', '{');
  const run = (...more: string[]) =>
    svc('run', '--file', 'a.ndjson', '--run', 'r1', '--provider', 'echo', '--output', 'out.ndjson', ...more);
  const first = await run('--json-schema', 'label.json', '--output-retries', '1');
  t.is(first.code, 1);
  const [good, bad] = ndjsonOf(read('out.ndjson'));
  t.like(good, { custom_id: 'good', status: 'completed', attempts: 1 });
  t.like(bad, { custom_id: 'bad', status: 'failed', attempts: 2 });
  t.regex(bad.error, /^invalid_output: The answer is not JSON: "no label"/);
  t.regex((await run('--json-schema', 'other.json')).err, /made with another schema.*give another --run/);
  t.regex((await run('--json-schema', 'broken.json')).err, /broken.json is not JSON/);
  t.regex((await run('--output-retries', '1')).err, /--output-retries needs --json-schema/);
});
