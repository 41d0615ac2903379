import test, { type ExecutionContext } from 'ava';
import { createClient } from '../../src/client/client.ts';
import { jobSheet } from '../../src/commands/jobSheet.ts';
import { jobTable } from '../../src/commands/jobTable.ts';
import { createProgram, runProgram } from '../../src/commands/program.ts';
import { runCommand } from '../../src/commands/run.ts';
import { watchJob } from '../../src/commands/watch.ts';
import { completedJob, eventStream, jobId, serve, streamOf, wireJob } from '../client/server.ts';
import { apiKey } from './cli.ts';
import { fakeIo } from './screens.ts';

const attack = 'safe\u001b]0;title\u0007\u001b[2J\u001b[31m red\u009b31m\r\b\u0000 end';

/** Escapes made visible: a regular expression with control characters is hard to read. */
const visible = (text: string): string => text.replaceAll('\u001b', '␛').replaceAll('\r', '␍');

/** Every sequence that our own code writes: colours and the clearing of a line. */
const ownSequences = /␍?␛\[(?:\d+m|K|\?1049[hl]|\?25[hl]|H|J)/g;

test('what a model wrote cannot drive the terminal', async (t) => {
  const job = completedJob(attack, { prompt: attack, input: attack, tags: [attack], provider: attack });
  const { url } = await serve(t, ({ method, path }) => {
    if (path.endsWith('/events')) return streamOf([wireJob(), job]);
    return { json: method === 'POST' ? wireJob() : job };
  });
  const { io, out, err } = fakeIo({ columns: 80, env: { SVC_API_KEY: apiKey, NO_COLOR: '1' } });
  t.is(await runProgram(createProgram([runCommand(io)]), ['run', 'x', '--url', url], io), 0);
  t.is(out(), 'safe red end\n');
  t.notRegex(visible(err()).replaceAll(ownSequences, ''), /[^\P{Cc}\n]/u);
  for (const line of [...jobSheet(job, io.out, 0), ...jobTable([job], io.out, 0)])
    t.notRegex(line, /\p{Cc}/u);
});

test('a terminal shows the state and why the job waits, and takes the line away afterwards', async (t) => {
  const waiting = {
    reason: 'workers_busy',
    detail: 'All slots are taken',
    until: null,
    position: 4,
  } as const;
  const job = completedJob('done');
  const { url } = await serve(t, ({ method, path }) => {
    if (path.endsWith('/events')) return streamOf([wireJob({ waiting }), job]);
    return { json: method === 'POST' ? wireJob({ waiting }) : job };
  });
  const { io, out, err } = fakeIo({ columns: 80, env: { SVC_API_KEY: apiKey } });
  t.is(await runProgram(createProgram([runCommand(io)]), ['run', 'x', '--url', url], io), 0);
  t.is(out(), 'done\n');
  t.regex(err(), /pending: All slots are taken \(place 4\)/);
  t.regex(visible(err()), /␍␛\[K␛\[2mecho · 0 tokens in/);
});

test('a terminal that reports no width is taken for 80 columns', (t) => {
  const { io } = fakeIo({ columns: 0 });
  t.is(io.out.width, 80);
  t.regex(jobTable([completedJob()], io.out, 0).join('\n'), /completed/);
});

test('colours are for terminals, and never against NO_COLOR', (t) => {
  const table = (columns: number | undefined, env: NodeJS.ProcessEnv): string => {
    const { io } = fakeIo({ env, ...(columns === undefined ? {} : { columns }) });
    return visible(jobTable([completedJob()], io.out, 0).join('\n'));
  };
  t.regex(table(100, {}), /␛\[32mcompleted/);
  t.notRegex(table(100, { NO_COLOR: '1' }), /␛/);
  t.notRegex(table(100, { TERM: 'dumb' }), /␛/);
  t.notRegex(table(undefined, { FORCE_COLOR: '1' }), /␛/);
});

test('a table never is wider than its terminal, and short ids take the place of long ones', (t) => {
  const job = completedJob('x', {
    prompt: '要約してください '.repeat(20),
    provider: 'a-provider-with-a-long-name',
  });
  for (const columns of [20, 40, 60, 80, 100, 131, 200]) {
    const { io } = fakeIo({ columns, env: { NO_COLOR: '1' } });
    const lines = jobTable([job, completedJob()], io.out, Date.parse(job.created_at));
    for (const line of lines) t.true(line.length <= columns, line);
    t.is(lines[1]?.startsWith(columns >= 130 ? jobId : '000000aa'), true);
  }
});

test('watching a job on a terminal leaves its states as lines', async (t) => {
  const { url } = await serve(t, ({ path }) =>
    path.endsWith('/events') ? streamOf([wireJob(), completedJob()]) : { json: completedJob() },
  );
  const { io, out, err } = fakeIo({ columns: 80 });
  await watchJob(createClient({ baseUrl: url, apiKey }), jobId, io);
  t.regex(visible(out()), /^\S+ {2}␛\[33mpending .*\n\S+ {2}␛\[32mcompleted␛\[39m {2}after 2\.5 s\n$/);
  t.true(err().endsWith('\r\u001b[K'));
});

/** A part of what attempt `lease` says. */
const said = (lease: number, seq: number, text: string) => ({
  type: 'job.progress',
  data: { id: jobId, lease, seq, text },
});

/** `svc run` on a terminal beside a job whose stream is this. */
async function runOnTerminal(
  t: ExecutionContext,
  frames: ReturnType<typeof said>[],
  output: string,
): Promise<{ out: string; err: string }> {
  const job = completedJob(output);
  const { url } = await serve(t, ({ method, path }) => {
    if (path.endsWith('/events')) return eventStream([...frames, { type: 'job.completed', data: job }]);
    return { json: method === 'POST' ? wireJob() : job };
  });
  const { io, out, err } = fakeIo({ columns: 80, env: { SVC_API_KEY: apiKey, NO_COLOR: '1' } });
  t.is(await runProgram(createProgram([runCommand(io)]), ['run', 'x', '--url', url], io), 0);
  return { out: out(), err: visible(err()) };
}

test('a terminal shows the output as it comes, once, with what was not told live at its end', async (t) => {
  const live = [said(1, 1, 'Once '), said(1, 1, 'Once '), said(1, 2, 'upon \u001b[2Ja ')];
  const { out, err } = await runOnTerminal(t, live, 'Once upon \u001b[2Ja time');
  t.is(out, 'Once upon a time\n');
  // The line that is alive is gone before the first word, and does not come back to wipe it.
  t.is(err.lastIndexOf('␍␛[K'), err.indexOf('echo · ') - '␍␛[K'.length);
});

test('an attempt that begins anew says so, and what it says stands whole', async (t) => {
  const { out, err } = await runOnTerminal(t, [said(1, 1, 'The fi'), said(2, 1, 'The second')], 'The second');
  t.is(out, 'The fi\nThe second\n');
  t.regex(err, /\(started over\)/);
});

test('a preview that has lost a part is followed by the whole output', async (t) => {
  const { out, err } = await runOnTerminal(t, [said(1, 1, 'a'), said(1, 3, 'c')], 'abc');
  t.is(out, 'ac\nabc\n');
  t.regex(err, /\(the whole output\)/);
});
