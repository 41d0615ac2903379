import type { WireRunResult } from '../../domain/wire/run.ts';
import type { FileJob } from '../jobFile.ts';

/** A job of a file and what became of it. */
export interface Answer {
  job: FileJob;
  result: WireRunResult;
}

/** What all answers of a file have in common. */
export interface AnswerFile {
  /** The columns of a table; none for other files. */
  header: readonly string[];
  /** The column with the ids; null where none was named. */
  idColumn: string | null;
}

/** A form of answers. A new one is a file here and a line in `answers/index.ts`. */
export interface AnswerFormat {
  /** For `--output-format`, and for the API, which has the same ones. */
  name: string;
  /** Without the dot. */
  extensions: readonly string[];
  /** The line before the answers; '' for none. */
  head: (file: AnswerFile) => string;
  /** One answer, with its line end. */
  line: (answer: Answer, file: AnswerFile) => string;
}

/** The columns of an answer beside those of the user, in their order. */
export function answerFields({ result }: Answer) {
  const { status, output, error, model, provider, attempts } = result;
  return {
    status,
    output,
    error: error === null ? null : `${error.code}: ${error.message}`,
    model,
    provider,
    input_tokens: result.input_tokens,
    output_tokens: result.output_tokens,
    cost_usd: result.cost_usd,
    attempts,
    job_id: result.job_id,
  };
}

/** The user's columns by name. */
export function columnsOf({ job }: Answer, { header }: AnswerFile): [name: string, cell: string][] {
  return header.map((name, index) => [name, job.cells[index] ?? '']);
}
