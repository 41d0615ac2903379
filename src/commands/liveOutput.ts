import type { OutputPart } from '../client/client.ts';
import { plainText } from '../lib/plainText.ts';
import type { Spinner } from '../lib/spinner.ts';
import type { Io } from './io.ts';

/** The output of a job on a terminal, as it is generated. */
export class LiveOutput {
  readonly #io: Io;
  readonly #spinner: Spinner;
  /** The output of the current attempt. */
  #said = '';
  #isAtLineBegin = true;

  /** @param spinner removed at the first output: both would write on the same line. */
  constructor(io: Io, spinner: Spinner) {
    this.#io = io;
    this.#spinner = spinner;
  }

  add({ text, isAnew }: OutputPart): void {
    this.#spinner.stop();
    if (isAnew && this.#said !== '') this.#beginAgain('started over');
    this.#said = isAnew ? text : this.#said + text;
    this.#write(text);
  }

  /** The job's final output: write what was not shown yet, or all of it when the preview was another text. */
  complete(output: string): void {
    const isMore = output.startsWith(this.#said);
    if (!isMore) this.#beginAgain('the whole output');
    this.#write(isMore ? output.slice(this.#said.length) : output);
    this.endLine();
  }

  /** The next text begins on a line of its own. */
  endLine(): void {
    if (!this.#isAtLineBegin) this.#write('\n');
  }

  #beginAgain(why: string): void {
    this.endLine();
    this.#io.err.line(this.#io.err.paint('dim', `(${why})`));
  }

  #write(text: string): void {
    const plain = plainText(text);
    if (plain === '') return;
    this.#io.out.write(plain);
    this.#isAtLineBegin = plain.endsWith('\n');
  }
}
