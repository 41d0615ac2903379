import { CoordinatorError } from '../../domain/errors.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { OutputCheck } from '../../domain/run.ts';
import type { SchemaChecks } from '../../lib/schemaChecks.ts';
import type { Store } from '../../store/store.ts';
import type { RunBook } from './runBook.ts';

/** What is wrong with an answer, and how often the job may be asked again. */
interface OutputFault {
  /** To follow "The answer". */
  fault: string;
  retries: number;
}

/** Holds the answers of jobs against what their runs demand. */
export class RunChecks {
  readonly #store: Store;
  readonly #book: RunBook;
  readonly #checks: SchemaChecks;

  constructor(parts: { store: Store; book: RunBook; checks: SchemaChecks }) {
    this.#store = parts.store;
    this.#book = parts.book;
    this.#checks = parts.checks;
  }

  /** @throws CoordinatorError invalid_request when answers cannot be held against a schema. */
  async assertUsable({ schema }: OutputCheck): Promise<void> {
    const fault = await this.#checks.schemaFault(schema);
    if (fault === null) return;
    throw new CoordinatorError('invalid_request', `The request is not valid: output_schema ${fault}`, {
      errors: [{ field: 'output_schema', message: fault }],
    });
  }

  /** @returns null at once when no run demands anything, as on most days; else a promise of null when the answer will do. */
  faultIn(jobId: string, output: string): Promise<OutputFault | null> | null {
    return this.#book.hasChecks ? this.#faultIn(jobId, output) : null;
  }

  async #faultIn(jobId: string, output: string): Promise<OutputFault | null> {
    const check = this.#checkOf(await this.#store.job(jobId));
    if (check === undefined) return null;
    const fault = await this.#checks.textFault(check.schema, output);
    return fault === null ? null : { fault, retries: check.retries };
  }

  #checkOf(job: JobRecord | undefined): OutputCheck | undefined {
    return job?.run === undefined ? undefined : this.#book.find(job.run.runId)?.check;
  }
}
