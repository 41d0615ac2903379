import type { BatchRequest, LineFault } from '../../domain/batch.ts';
import type { JobRecord, JobRequest } from '../../domain/job.ts';

/** What one line asks for. */
export interface BatchLine {
  /** Unique in the file. */
  lineId: string;
  request: JobRequest;
}

/** A line that cannot be run. */
export class BatchLineFault extends Error {
  readonly fault: Omit<LineFault, 'line'>;

  constructor(fault: Omit<LineFault, 'line'>) {
    super(fault.message);
    this.name = 'BatchLineFault';
    this.fault = fault;
  }
}

/** A line of the output or of the error file. */
export interface BatchAnswer {
  /** Whether it belongs to the output file. */
  isAnswer: boolean;
  /** The line, with its newline. */
  pieces: Iterable<string>;
}

/** How the lines of a batch are read and its answers are written. */
export interface BatchFormat {
  /** The id of a line that `parse` has taken before. */
  idOf(text: string): string;
  /** @throws BatchLineFault; what else it throws is tried again. */
  parse(text: string, batch: BatchRequest): Promise<BatchLine>;
  /**
   * The answer to a line.
   * @param job undefined when the line was not made a job. @param untried why a line without a result of its own has none.
   */
  answer(lineId: string, job: JobRecord | undefined, untried: Untried): BatchAnswer;
}

/** Why a line was not tried to its end. */
export type Untried = 'batch_cancelled' | 'batch_expired' | { code: string; message: string };
