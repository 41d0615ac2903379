import type { WireRunResult } from '../../domain/wire/run.ts';
import type { FileJob } from '../jobFile.ts';

/** A job of a file and what became of it. */
export interface Answer {
  job: FileJob;
  result: WireRunResult;
}

/** A form of answers. A new one is a file here and a line in `answers/index.ts`. */
export interface AnswerFormat {
  /** For `--output-format`, and for the API, which has the same ones. */
  name: string;
  /** Without the dot. */
  extensions: readonly string[];
  /** The line before the answers; '' for none. @param header the columns of a table; none for other files. */
  head: (header: readonly string[]) => string;
  /** One answer, with its line end. */
  line: (answer: Answer, header: readonly string[]) => string;
}
