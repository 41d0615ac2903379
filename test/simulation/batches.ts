import {
  type BatchFormat,
  type BatchLine,
  BatchLineFault,
  type BatchRun,
} from '../../src/coordinator/batches/index.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { nobody } from '../../src/domain/audit.ts';
import { isFinal } from '../../src/domain/batch.ts';
import type { JobRequest } from '../../src/domain/job.ts';
import type { Principal } from '../../src/domain/key.ts';
import type { Checker } from './checker.ts';
import type { Ask } from './clients.ts';
import type { Dice } from './dice.ts';

const sender: Principal = { keyId: 'batches', name: null, role: 'admin', bounds: null, secretHash: '' };
/** Some of them end before their jobs do. */
const windowsMs = [20_000, 120_000, 3_600_000];

interface Line {
  id: string;
  request: JobRequest;
}

/** A line is a request as it is, and so is its answer. */
const format: BatchFormat = {
  idOf: (text) => (JSON.parse(text) as Line).id,
  parse: async (text): Promise<BatchLine> => {
    const { id, request } = JSON.parse(text) as Partial<Line>;
    if (id !== undefined && request !== undefined) return { lineId: id, request };
    throw new BatchLineFault({ code: 'wrong', message: 'It is wrong', param: null });
  },
  answer: (lineId) => ({ isAnswer: lineId.length % 2 === 0, pieces: [`${lineId}\n`] }),
};

/** Clients that send files of requests, and hold the files that come back against them. */
export class SimBatches {
  readonly #dice: Dice;
  readonly #ask: Ask;
  readonly #checker: Checker;
  readonly #request: () => { name: string; request: JobRequest };
  /** The lines of each batch whose id a client has seen; null for a file that is wrong. */
  readonly #lines = new Map<string, string[] | null>();
  #count = 0;

  constructor(options: {
    dice: Dice;
    ask: Ask;
    checker: Checker;
    request: () => { name: string; request: JobRequest };
  }) {
    this.#dice = options.dice;
    this.#ask = options.ask;
    this.#checker = options.checker;
    this.#request = options.request;
  }

  /** A coordinator has started. */
  static open({ batches }: Coordinator): void {
    batches.open(format);
  }

  /** One thing that some client does. */
  act(): void {
    const known = [...this.#lines.keys()];
    const choice = this.#dice.int(0, 99);
    if (choice < 60 || known.length === 0) {
      this.#begin();
      return;
    }
    const id = this.#dice.pick(known);
    if (choice < 75)
      this.#ask(
        `cancel batch ${id}`,
        ({ batches }) => batches.cancel(id, nobody),
        () => {},
      );
    else
      this.#ask(
        `${choice < 85 ? 'pause' : 'resume'} batch ${id}`,
        ({ runs }) => (choice < 85 ? runs.pause(id, nobody, 'simulated') : runs.resume(id, {}, nobody)),
        () => {},
      );
  }

  /** Every batch goes on. */
  turnBack(): void {
    for (const id of this.#lines.keys())
      this.#ask(
        `resume batch ${id}`,
        ({ runs }) => runs.resume(id, {}, nobody),
        () => {},
      );
  }

  #begin(): void {
    this.#count += 1;
    const isWrong = this.#dice.chance(0.1);
    const count = this.#dice.int(1, 12);
    const lines = Array.from({ length: count }, (_, place): Line => {
      return { id: `b${this.#count}-${place}`, request: this.#request().request };
    });
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('') + (isWrong ? '{}\n' : '');
    const windowMs = this.#dice.pick(windowsMs);
    this.#ask(
      `begin batch ${this.#count}`,
      (coordinator) => begun(coordinator, text, windowMs),
      (told, id) => {
        if (told === 'ok' && id !== null) this.#lines.set(id, isWrong ? null : lines.map((line) => line.id));
      },
    );
  }

  /** Whether every batch has ended. */
  areAtRest({ batches }: Coordinator): boolean {
    return batches.list().every(({ batch }) => isFinal(batch.state));
  }

  /** At rest: each line of a batch is in exactly one of its files, once. */
  async audit({ batches, files }: Coordinator): Promise<void> {
    for (const [id, lines] of this.#lines) {
      const run = batches.find(id);
      if (run === undefined) this.#checker.breach(`batch ${id} was acknowledged and is gone`);
      else await this.#check(run, lines, files);
    }
  }

  async #check({ id, batch }: BatchRun, lines: string[] | null, files: Coordinator['files']): Promise<void> {
    const { state, life } = batch;
    if (!isFinal(state)) this.#checker.breach(`all has ended, and batch ${id} is ${state}`);
    if (lines === null && state !== 'failed' && state !== 'cancelled')
      this.#checker.breach(`the file of batch ${id} is wrong, and it is ${state}`);
    if (lines === null || life.lines === null || life.result === null) return;
    const { outputFileId, errorFileId, completed } = life.result;
    const output = await linesIn(files, outputFileId);
    const found = [...output, ...(await linesIn(files, errorFileId))].sort();
    if (found.join() !== lines.toSorted().join())
      this.#checker.breach(`the files of batch ${id} have ${found.join(' ')}, it was ${lines.join(' ')}`);
    if (completed !== output.length)
      this.#checker.breach(`batch ${id} counts ${completed} of ${output.length} answers`);
  }
}

async function linesIn(files: Coordinator['files'], id: string | null): Promise<string[]> {
  if (id === null) return [];
  let text = '';
  for await (const part of files.read(id)) text += part.toString();
  return text.split('\n').filter((line) => line !== '');
}

async function begun({ files, batches }: Coordinator, text: string, windowMs: number): Promise<string> {
  const draft = await files.begin({ name: 'a', purpose: 'batch', expiresAt: null, createdBy: null });
  try {
    await draft.write(Buffer.from(text));
    const file = await files.add(await draft.finish());
    const run = await batches.create(
      {
        endpoint: 'simulated',
        inputFileId: file.id,
        window: `${windowMs} ms`,
        windowMs,
        outputKeptMs: 30 * 86_400_000,
        metadata: {},
        limits: { maxCost: null, maxFailures: null },
        key: null,
      },
      sender,
    );
    return run.id;
  } catch (error) {
    await draft.abandon();
    throw error;
  }
}
