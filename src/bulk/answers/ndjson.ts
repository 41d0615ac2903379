import { answerCells, answerColumns } from '../../domain/wire/runAnswer.ts';
import { safeJson } from '../../lib/plainText.ts';
import type { AnswerFormat } from './answer.ts';

/** A JSON object on each line. */
export const ndjsonAnswers: AnswerFormat = {
  name: 'ndjson',
  extensions: ['ndjson', 'jsonl', 'json'],
  head: () => '',
  line: ({ job, result }, header) => {
    const cells = answerCells(result);
    const answer = Object.fromEntries(answerColumns.map((name, index) => [name, cells[index]]));
    const columns = Object.fromEntries(header.map((name, index) => [name, job.cells[index] ?? '']));
    const whole = {
      line: job.line,
      custom_id: job.ownId,
      ...(header.length === 0 ? {} : { columns }),
      ...answer,
      ...(result.tool_calls === undefined ? {} : { tool_calls: result.tool_calls }),
    };
    return `${safeJson(whole, 0)}\n`;
  },
};
