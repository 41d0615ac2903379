import { terminalStatuses } from '../domain/states.ts';
import type { WireRunResult } from '../domain/wire/run.ts';
import type { Answer } from './answers/answer.ts';
import type { FileJob } from './jobFile.ts';

/** The API's limit for one request. */
const askedMax = 1_000;
/** How many are asked for first: most of them may not have ended. */
const askedFirst = 8;
const askedGrowth = 4;
/** The request has 64 KiB at most, and a character of an id may take six bytes of it. */
const askedBytesMax = 56 * 1024;
/** Characters of jobs that are held at once. */
const heldMax = 8 * 1024 ** 2;

/** Asks for the results of some lines, in their order. */
export type AskResults = (lineIds: readonly string[]) => Promise<WireRunResult[]>;

/** The answers of a file, in its order. Memory holds the jobs of one request. */
export class AnswerLines {
  readonly #jobs: AsyncIterator<FileJob>;
  readonly #ask: AskResults;
  readonly #take: (answer: Answer) => Promise<void>;
  #ahead: FileJob[] = [];
  #window = askedFirst;
  #isOver = false;

  /** @param take is called with each answer, one after the other. */
  constructor(jobs: AsyncIterator<FileJob>, ask: AskResults, take: (answer: Answer) => Promise<void>) {
    this.#jobs = jobs;
    this.#ask = ask;
    this.#take = take;
  }

  /** Take the answers up to the first job that has not ended. */
  async takeEnded(): Promise<void> {
    while (await this.#takeSome(false)) this.#window = Math.min(askedMax, this.#window * askedGrowth);
    this.#window = askedFirst;
  }

  /** Take all that are left, also of jobs that have not ended. */
  async takeAll(): Promise<void> {
    this.#window = askedMax;
    while (await this.#takeSome(true));
    await this.close();
  }

  /** Close the file. */
  async close(): Promise<void> {
    await this.#jobs.return?.();
  }

  /** @returns whether there may be more. */
  async #takeSome(isFinal: boolean): Promise<boolean> {
    const wanted = await this.#fill();
    if (wanted.length === 0) return false;
    const results = await this.#ask(wanted.map(({ id }) => id));
    let taken = 0;
    for (const [index, result] of results.entries()) {
      const job = wanted[index];
      const hasEnded = result.status !== null && terminalStatuses.includes(result.status);
      if (job === undefined || !(isFinal || hasEnded)) break;
      await this.#take({ job, result });
      taken += 1;
    }
    this.#ahead.splice(0, taken);
    return taken === wanted.length;
  }

  async #fill(): Promise<FileJob[]> {
    let held = 0;
    for (const job of this.#ahead) held += weightOf(job);
    while (!this.#isOver && this.#ahead.length < this.#window && held < heldMax) {
      const next = await this.#jobs.next();
      if (next.done) this.#isOver = true;
      else {
        this.#ahead.push(next.value);
        held += weightOf(next.value);
      }
    }
    return this.#ahead.slice(0, Math.min(this.#window, countThatFits(this.#ahead)));
  }
}

function weightOf({ body, cells }: FileJob): number {
  return (
    (body.prompt?.length ?? 0) + (body.input?.length ?? 0) + cells.reduce((sum, one) => sum + one.length, 0)
  );
}

/** How many ids fit into one request, at least one. */
function countThatFits(jobs: readonly FileJob[]): number {
  let bytes = 0;
  for (const [index, { id }] of jobs.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(id)) + 1;
    if (bytes > askedBytesMax) return Math.max(1, index);
  }
  return jobs.length;
}
