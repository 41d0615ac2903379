import { answerCells, answerColumns } from '../../domain/wire/runAnswer.ts';
import { csvLine } from '../../lib/csv.ts';
import type { AnswerFormat } from './answer.ts';

/** In front of our columns when the user has one of the same name. */
const prefix = 'svc_';
/** What a file that is no table has in place of its columns. */
const placeColumns = ['line', 'custom_id'];

/** A table: the user's columns, or the place of the line, then the answer. */
export const csvAnswers: AnswerFormat = {
  name: 'csv',
  extensions: ['csv'],
  head: (header) => {
    const own = header.length > 0 ? header : placeColumns;
    return csvLine([...own, ...answerColumns.map((name) => freeName(name, own))]);
  },
  line: ({ job, result }, header) => {
    const own = header.length > 0 ? job.cells : [job.line, job.ownId];
    return csvLine([...own, ...answerCells(result)]);
  },
};

function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  while (taken.includes(free)) free = prefix + free;
  return free;
}
