import { extname } from 'node:path';
import type { AnswerFormat } from './answer.ts';
import { csvAnswers } from './csv.ts';
import { ndjsonAnswers } from './ndjson.ts';
import { openaiAnswers } from './openai.ts';

/** Every form of answers; the first is the default. */
export const answerFormats: readonly [AnswerFormat, ...AnswerFormat[]] = [
  ndjsonAnswers,
  csvAnswers,
  openaiAnswers,
];

/** The form of the answers: the named one, else by the extension of the file, else NDJSON. */
export function answerFormatOf(name: string | undefined, output: string | undefined): AnswerFormat {
  const extension = output === undefined ? '' : extname(output).slice(1).toLowerCase();
  const found = answerFormats.find((format) =>
    name === undefined ? format.extensions.includes(extension) : format.name === name,
  );
  return found ?? answerFormats[0];
}
