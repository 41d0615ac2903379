import type { BatchResult } from '../../domain/batch.ts';
import type { FileRecord } from '../../domain/file.ts';
import type { JobRecord } from '../../domain/job.ts';
import { isTerminal } from '../../domain/states.ts';
import { inChunks } from '../../lib/chunks.ts';
import type { Store } from '../../store/store.ts';
import type { FileDraft, FileShelf } from '../files/index.ts';
import { jobIdOf, ownIdOf } from '../runs/index.ts';
import { type BatchAnswer, type BatchFormat, BatchLineFault, type Untried } from './batchFormat.ts';
import { inputLines } from './batchReading.ts';
import type { BatchRun } from './batchRun.ts';

/** Characters that are written at once. */
const writtenAtOnce = 256 * 1024;

/** Where the answers of batches come from and go to. */
export interface ResultParts {
  store: Store;
  files: FileShelf;
  format: BatchFormat;
  /** Epoch ms. */
  now: () => number;
  /** Whether the coordinator stops. */
  isClosed: () => boolean;
}

/** A line of an input file with what became of it. */
interface Ended {
  text: string;
  lineId: string;
  /** undefined: it was not made a job. */
  job: JobRecord | undefined;
}

/** The coordinator stops. */
export class Closed extends Error {}

/** Some job of the batch has not ended: it was retried. */
export class StillOpen extends Error {}

/** Every line of the input file, in its order, with its job, archived or not; none of a file that was not read to its end. */
async function* endedLines({ store, files, format }: ResultParts, run: BatchRun) {
  if (run.batch.life.lines === null) return;
  for await (const { text } of inputLines(files, run)) {
    const lineId = format.idOf(text);
    const id = jobIdOf(run.id, lineId);
    const job = (await store.job(id)) ?? (await store.archivedJob(id));
    const line: Ended = { text, lineId, job };
    yield line;
  }
}

/**
 * Write the two files of a batch: each line goes to one of them, in the order of the input file. Nobody sees them before their
 * records are committed.
 * @param commit makes the result and the records of the files durable, all or none; false: that is not wanted any more.
 * @throws StillOpen, Closed; StoreUnavailable; CoordinatorError when there is no room; the error of the disk; what `commit`
 * throws. Nothing remains of the files then.
 */
export async function writeFiles(
  parts: ResultParts,
  run: BatchRun,
  commit: (result: BatchResult, files: FileRecord[]) => Promise<boolean>,
): Promise<void> {
  const output = new OutputFile(parts, run, 'output');
  const errors = new OutputFile(parts, run, 'errors');
  let isCommitted = false;
  try {
    const sums = await writeLines(parts, run, { output, errors });
    const [outputFile, errorFile] = [await output.finish(), await errors.finish()];
    const result = {
      ...sums.total(run),
      outputFileId: outputFile?.id ?? null,
      errorFileId: errorFile?.id ?? null,
    };
    isCommitted = await commit(
      result,
      [outputFile, errorFile].filter((file) => file !== null),
    );
  } finally {
    if (!isCommitted) await Promise.all([output.abandon(), errors.abandon()]);
  }
}

async function writeLines(
  parts: ResultParts,
  run: BatchRun,
  { output, errors }: { output: OutputFile; errors: OutputFile },
): Promise<Sums> {
  const sums = new Sums();
  for await (const line of endedLines(parts, run)) {
    if (parts.isClosed()) throw new Closed();
    if (line.job !== undefined && !isTerminal(line.job.state)) throw new StillOpen();
    const answer = await answerTo(parts, run, line);
    sums.add(line.job, answer, run);
    await (answer.isAnswer ? output : errors).write(answer);
  }
  return sums;
}

/** The lines of one of the files as far as they have ended, in their order. */
export function answersSoFar(
  parts: ResultParts,
  run: BatchRun,
  which: 'output' | 'errors',
): AsyncGenerator<string> {
  async function* pieces(): AsyncGenerator<string> {
    for await (const line of endedLines(parts, run)) {
      if (line.job === undefined || !isTerminal(line.job.state)) continue;
      const answer = await answerTo(parts, run, line);
      if (answer.isAnswer === (which === 'output')) yield* answer.pieces;
    }
  }
  return inChunks(pieces());
}

/** The lines of the input file that have no answer, as they are there: all of them when it was not read to its end. */
export async function* unansweredLines(parts: ResultParts, run: BatchRun): AsyncGenerator<string> {
  if (run.batch.life.lines === null) {
    for await (const { text } of inputLines(parts.files, run)) yield `${text}\n`;
    return;
  }
  for await (const { text, job } of endedLines(parts, run)) if (job?.state !== 'completed') yield `${text}\n`;
}

async function answerTo(
  { format }: ResultParts,
  run: BatchRun,
  { text, lineId, job }: Ended,
): Promise<BatchAnswer> {
  return format.answer(lineId, job, job === undefined ? await whyNoJob(format, run, text) : untriedOf(run));
}

/** Why a job of the batch was cancelled. */
function untriedOf({ batch: { life } }: BatchRun): Untried {
  if (life.cancellingAt !== null) return 'batch_cancelled';
  if (life.expiringAt !== null) return 'batch_expired';
  return { code: 'job_cancelled', message: 'The job of this line was cancelled' };
}

async function whyNoJob(format: BatchFormat, run: BatchRun, text: string): Promise<Untried> {
  const { cancellingAt, expiringAt } = run.batch.life;
  if (cancellingAt !== null || expiringAt !== null) return untriedOf(run);
  try {
    await format.parse(text, run.batch.request);
  } catch (error) {
    if (error instanceof BatchLineFault) return error.fault;
  }
  return {
    code: 'not_run',
    message: 'Nothing names a provider for this line any more, or its job is no longer kept (retention)',
  };
}

/** One of the files, begun with its first line. */
class OutputFile {
  readonly #files: FileShelf;
  readonly #now: () => number;
  readonly #run: BatchRun;
  readonly #which: 'output' | 'errors';
  #draft: FileDraft | null = null;
  /** Not written yet. */
  #text = '';

  constructor({ files, now }: ResultParts, run: BatchRun, which: 'output' | 'errors') {
    this.#files = files;
    this.#now = now;
    this.#run = run;
    this.#which = which;
  }

  async write({ pieces }: BatchAnswer): Promise<void> {
    for (const piece of pieces) {
      this.#text += piece;
      if (this.#text.length >= writtenAtOnce) await this.#flush();
    }
  }

  /** @returns null when it has no line. */
  async finish(): Promise<FileRecord | null> {
    if (this.#text !== '') await this.#flush();
    return this.#draft === null ? null : this.#draft.finish();
  }

  async #flush(): Promise<void> {
    this.#draft ??= await this.#begin();
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    await this.#draft.write(bytes);
  }

  async abandon(): Promise<void> {
    await this.#draft?.abandon();
  }

  #begin() {
    const { id, name, createdBy, batch } = this.#run;
    return this.#files.begin({
      // The same after a crash: what was written before is replaced.
      id: ownIdOf(id, this.#which),
      name: `${name}_${this.#which === 'output' ? 'output' : 'error'}.jsonl`,
      purpose: 'batch_output',
      createdBy,
      expiresAt: this.#now() + batch.request.outputKeptMs,
    });
  }
}

/** What the lines come to. */
class Sums {
  #completed = 0;
  #failed = 0;
  #inputTokens = 0;
  #cachedInputTokens = 0;
  #outputTokens = 0;
  #reasoningTokens = 0;

  add(job: JobRecord | undefined, { isAnswer }: BatchAnswer, { batch: { life } }: BatchRun): void {
    const isCut = life.cancellingAt !== null || life.expiringAt !== null;
    if (isAnswer) this.#completed += 1;
    // Of a batch that ended by itself every other line has failed, also one whose job somebody cancelled.
    else if (job?.state === 'failed' || !isCut) this.#failed += 1;
    const usage = job?.life.result?.usage;
    if (usage === undefined) return;
    this.#inputTokens += usage.inputTokens;
    this.#cachedInputTokens += usage.cachedInputTokens;
    this.#outputTokens += usage.outputTokens;
    this.#reasoningTokens += usage.reasoningTokens;
  }

  total({ totals }: BatchRun) {
    return {
      completed: this.#completed,
      failed: this.#failed,
      inputTokens: this.#inputTokens,
      cachedInputTokens: this.#cachedInputTokens,
      outputTokens: this.#outputTokens,
      reasoningTokens: this.#reasoningTokens,
      nanoDollars: totals.nanoDollars,
    };
  }
}
