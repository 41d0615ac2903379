import { AnswerLines } from '../../bulk/answerLines.ts';
import type { AnswerFormat } from '../../bulk/answers/answer.ts';
import type { JobFile } from '../../bulk/jobFile.ts';
import type { Client } from '../../client/client.ts';
import type { GrowingFile } from '../../lib/replacedFile.ts';
import type { Destination } from './destination.ts';
import type { Patience } from './patience.ts';

/** How the jobs of a file ended. */
export interface Tally {
  completed: number;
  failed: number;
  cancelled: number;
  /** They have not ended, or the run does not have them. */
  others: number;
}

export interface AnswersOptions {
  client: Client;
  run: string;
  file: JobFile;
  format: AnswerFormat;
  destination: Destination;
}

/** The answers to a file, joined with its lines and written in their order. */
export class Answers {
  readonly tally: Tally = { completed: 0, failed: 0, cancelled: 0, others: 0 };
  readonly #options: AnswersOptions;
  readonly #lines: AnswerLines;
  #target: GrowingFile | null = null;

  constructor(options: AnswersOptions, patience: Patience) {
    const { client, run, file, format } = options;
    this.#options = options;
    this.#lines = new AnswerLines(
      file.jobs(),
      (ids) => patience.ask((signal) => client.runResults(run, ids, { signal })),
      async (answer) => {
        const { status } = answer.result;
        const isEnd = status === 'completed' || status === 'failed' || status === 'cancelled';
        this.tally[isEnd ? status : 'others'] += 1;
        await this.#target?.write(format.line(answer, file.header));
      },
    );
  }

  /** Write those that have come, where they are written as they come. */
  async writeEnded(): Promise<void> {
    if (!this.#options.destination.grows) return;
    await this.#open();
    await this.#lines.takeEnded();
    await this.#target?.flush();
  }

  /** Write all that are left. The file has its name afterwards. */
  async finish(): Promise<void> {
    await this.#open();
    await this.#lines.takeAll();
    await this.#target?.finish();
    this.#target = null;
  }

  /** Give up. What was written as it came stays; a file that was to be replaced is unchanged. */
  async discard(): Promise<void> {
    await this.#lines.close();
    await this.#target?.discard();
    this.#target = null;
  }

  async #open(): Promise<void> {
    if (this.#target !== null) return;
    this.#target = await this.#options.destination.open();
    const { format, file } = this.#options;
    const head = format.head(file.header);
    if (head !== '') await this.#target.write(head);
  }
}
