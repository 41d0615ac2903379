import type { OutputPart } from '../client/client.ts';
import { plainText } from '../lib/plainText.ts';
import type { Spinner } from '../lib/spinner.ts';
import type { Io } from './io.ts';

/** The output of a job on a terminal, written while it comes. */
export class LiveOutput {
  readonly #io: Io;
  readonly #spinner: Spinner;
  /** What the attempt that speaks has said. */
  #said = '';
  #isAtLineBegin = true;

  /** @param spinner taken away when the first word comes: both would write on the same line. */
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

  /** The job has answered `output`: write what of it has not been seen, all of it when the preview was another text. */
  complete(output: string): void {
    const isMore = output.startsWith(this.#said);
    if (!isMore) this.#beginAgain('the whole output');
    this.#write(isMore ? output.slice(this.#said.length) : output);
    this.endLine();
  }

  /** Whatever comes next begins on a line of its own. */
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
