import type { Coordinator } from '../../../coordinator/coordinator.ts';
import type { WireRunResult } from '../../../domain/wire/run.ts';
import { answerCells, answerColumns, openAiLine } from '../../../domain/wire/runAnswer.ts';
import { inChunks } from '../../../lib/chunks.ts';
import { csvLine } from '../../../lib/csv.ts';
import { jsonPieces } from '../../../lib/jsonPieces.ts';
import { presentRunResult } from '../../../present/run.ts';

/** How the answers of a run are written: what stands before them, and the pieces of the line of each. */
interface ResultFormat {
  type: string;
  head: string;
  line(result: WireRunResult): Iterable<string>;
}

/** The formats of answers, by name; a new one is a line here. */
export const resultFormats = {
  ndjson: {
    type: 'application/x-ndjson',
    head: '',
    line: jsonLine,
  },
  csv: {
    type: 'text/csv; charset=utf-8',
    head: csvLine(['line_id', ...answerColumns]),
    line: (result) => [csvLine([result.line_id, ...answerCells(result)])],
  },
  openai: {
    type: 'application/jsonl',
    head: '',
    line: (result) => jsonLine(openAiLine(result)),
  },
} as const satisfies Record<string, ResultFormat>;
export type ResultFormatName = keyof typeof resultFormats;

function* jsonLine(value: object): Generator<string> {
  yield* jsonPieces(value);
  yield '\n';
}

/** The answers of a run in the order of its lines, made as they are read. */
export function allResults(
  { runs }: Coordinator,
  name: string,
  format: ResultFormatName,
): AsyncGenerator<string> {
  const { head, line } = resultFormats[format];
  async function* pieces(): AsyncGenerator<string> {
    yield head;
    for await (const jobs of runs.jobs(name)) {
      for (const job of jobs) yield* line(presentRunResult(job.run?.lineId ?? job.id, job));
    }
  }
  return inChunks(pieces());
}

/** The answers to some lines, in their order. */
export function resultsOf(
  { runs }: Coordinator,
  name: string,
  lineIds: readonly string[],
): AsyncGenerator<string> {
  async function* pieces(): AsyncGenerator<string> {
    for (const lineId of lineIds) yield* jsonLine(presentRunResult(lineId, await runs.job(name, lineId)));
  }
  return inChunks(pieces());
}
