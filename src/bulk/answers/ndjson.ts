import { safeJson } from '../../lib/plainText.ts';
import { type AnswerFormat, answerFields, columnsOf } from './answer.ts';

/** A JSON object on each line. */
export const ndjsonAnswers: AnswerFormat = {
  name: 'ndjson',
  extensions: ['ndjson', 'jsonl', 'json'],
  head: () => '',
  line: (answer, file) => {
    const { job, result } = answer;
    const columns = columnsOf(answer, file);
    const { status, output, error, ...rest } = answerFields(answer);
    const tools = result.tool_calls === undefined ? {} : { tool_calls: result.tool_calls };
    const own = columns.length === 0 ? {} : { columns: Object.fromEntries(columns) };
    const whole = { line: job.line, custom_id: job.ownId, ...own, status, output, ...tools, error, ...rest };
    return `${safeJson(whole, 0)}\n`;
  },
};
