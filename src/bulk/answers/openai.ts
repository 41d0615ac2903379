import { openAiLine } from '../../domain/wire/runAnswer.ts';
import { safeJson } from '../../lib/plainText.ts';
import type { AnswerFormat } from './answer.ts';

/** The lines of OpenAI's output files. A job that did not complete has an error in place of the response. */
export const openaiAnswers: AnswerFormat = {
  name: 'openai',
  extensions: [],
  head: () => '',
  line: ({ result }) => `${safeJson(openAiLine(result), 0)}\n`,
};
