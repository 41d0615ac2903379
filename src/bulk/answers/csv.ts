import { csvLine } from '../../lib/csv.ts';
import { type Answer, type AnswerFile, type AnswerFormat, answerFields } from './answer.ts';

/** In front of our columns when the user has one of the same name. */
const prefix = 'svc_';
const names = [
  'status',
  'output',
  'error',
  'model',
  'provider',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'attempts',
  'job_id',
] as const satisfies readonly (keyof ReturnType<typeof answerFields>)[];

/** A table: the user's columns, or the id of the line, then the answer. */
export const csvAnswers: AnswerFormat = {
  name: 'csv',
  extensions: ['csv'],
  head: (file) => {
    const own = ownNames(file);
    return csvLine([...own, ...names.map((name) => freeName(name, own))]);
  },
  line: (answer, file) => {
    const fields = answerFields(answer);
    return csvLine([...ownCells(answer, file), ...names.map((name) => fields[name])]);
  },
};

/** A file that is no table has no columns: its answers have the line and the id. */
function ownNames({ header }: AnswerFile): readonly string[] {
  return header.length > 0 ? header : ['line', 'custom_id'];
}

function ownCells({ job }: Answer, { header }: AnswerFile): readonly (string | number | null)[] {
  return header.length > 0 ? job.cells : [job.line, job.ownId];
}

function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  while (taken.includes(free)) free = prefix + free;
  return free;
}
