import test from 'ava';
import { AnswerLines } from '../../src/bulk/answerLines.ts';
import type { Answer } from '../../src/bulk/answers/answer.ts';
import { answerFormatOf } from '../../src/bulk/answers/index.ts';
import type { FileJob } from '../../src/bulk/jobFile.ts';
import type { WireRunResult } from '../../src/domain/wire/run.ts';

const jobOf = (over: Partial<FileJob> = {}): FileJob => ({
  line: 2,
  id: 'a',
  ownId: 'a',
  body: { prompt: 'p' },
  cells: [],
  ...over,
});

const resultOf = (over: Partial<WireRunResult> = {}): WireRunResult => ({
  line_id: 'a',
  job_id: 'job-1',
  status: 'completed',
  output: 'hello, "you"',
  finish_reason: 'stop',
  error: null,
  provider: 'echo',
  model: 'm',
  input_tokens: 3,
  output_tokens: 5,
  cost_usd: 0.5,
  cost_status: 'known',
  attempts: 1,
  finished_at: '2026-11-21T09:00:00.000Z',
  ...over,
});

test('answers as a table have the columns of the user first, and no name twice', (t) => {
  const csv = answerFormatOf(undefined, 'answers.CSV');
  const header = ['id', 'status', 'svc_status'];
  t.is(
    csv.head(header),
    'id,status,svc_status,svc_svc_status,output,error,model,provider,input_tokens,output_tokens,cost_usd,attempts,job_id\r\n',
  );
  const answer: Answer = { job: jobOf({ cells: ['7', '=1', 'x\ny'] }), result: resultOf() };
  t.is(csv.line(answer, header), `7,'=1,"x\ny",completed,"hello, ""you""",,m,echo,3,5,0.5,1,job-1\r\n`);
  t.regex(csv.head([]), /^line,custom_id,status,/);
  t.regex(csv.line({ job: jobOf(), result: resultOf() }, []), /^2,a,completed,/);
});

test('answers as JSON have the line, the id and the columns', (t) => {
  const ndjson = answerFormatOf(undefined, undefined);
  const error = { class: 'server_error' as const, code: 'x', message: 'it broke' };
  const failed = resultOf({ status: 'failed', output: null, error });
  const line = JSON.parse(ndjson.line({ job: jobOf({ cells: ['7'] }), result: failed }, ['nr']));
  t.like(line, { line: 2, custom_id: 'a', status: 'failed', output: null, error: 'server_error: it broke' });
  t.deepEqual(line.columns, { nr: '7' });
  const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }];
  const called = JSON.parse(ndjson.line({ job: jobOf(), result: resultOf({ tool_calls: calls }) }, []));
  t.deepEqual(called.tool_calls, calls);
  t.false('columns' in called);
});

test("answers in OpenAI's form have a response or an error", (t) => {
  const openai = answerFormatOf('openai', 'answers.csv');
  const done = JSON.parse(openai.line({ job: jobOf(), result: resultOf() }, []));
  t.is(done.custom_id, 'a');
  t.is(done.response.status_code, 200);
  t.is(done.response.body.choices[0].message.content, 'hello, "you"');
  t.is(done.error, null);
  const none = resultOf({ job_id: null, status: null, output: null });
  t.like(JSON.parse(openai.line({ job: jobOf(), result: none }, [])), { response: null, custom_id: 'a' });
});

/** Answers to numbered lines, of which the first `ended` have ended. */
function linesUpTo(count: number, state: { ended: number; asked: number[] }, idLength = 3) {
  const taken: string[] = [];
  const jobs = (async function* () {
    for (let line = 1; line <= count; line += 1)
      yield jobOf({ line, id: String(line).padStart(idLength, '0') });
  })();
  const lines = new AnswerLines(
    jobs,
    async (ids) => {
      state.asked.push(ids.length);
      return ids.map((id) =>
        resultOf({ line_id: id, status: Number(id) <= state.ended ? 'completed' : 'pending' }),
      );
    },
    async ({ job, result }) => {
      taken.push(`${job.line} ${result.status}`);
    },
  );
  return { lines, taken };
}

test('answers are taken as far as all before them have ended, then all', async (t) => {
  const state = { ended: 0, asked: [] as number[] };
  const { lines, taken } = linesUpTo(50, state);
  await lines.takeEnded();
  t.deepEqual(taken, []);
  state.ended = 41;
  await lines.takeEnded();
  t.is(taken.length, 41);
  t.is(taken[40], '41 completed');
  await lines.takeAll();
  t.is(taken.length, 50);
  t.is(taken[49], '50 pending');
});

test('a request asks for no more lines than the API takes, and ids of any length fit', async (t) => {
  const state = { ended: Number.POSITIVE_INFINITY, asked: [] as number[] };
  const { lines, taken } = linesUpTo(2_500, state);
  await lines.takeAll();
  t.is(taken.length, 2_500);
  t.deepEqual(state.asked, [1000, 1000, 500]);
  const long = { ended: Number.POSITIVE_INFINITY, asked: [] as number[] };
  await linesUpTo(600, long, 255).lines.takeAll();
  t.true(Math.max(...long.asked) * 258 < 60_000);
});
