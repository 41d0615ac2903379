import type { Coordinator } from '../../../coordinator/coordinator.ts';
import type { WireRunResult } from '../../../domain/wire/run.ts';
import { answerCells, answerColumns, openAiLine } from '../../../domain/wire/runAnswer.ts';
import { csvLine } from '../../../lib/csv.ts';
import { ownTurn } from '../../../lib/nextTurn.ts';
import { presentRunResult } from '../../../present/run.ts';

/** Characters that are collected before they are sent. */
const chunkCharacters = 64 * 1024;

/** How the answers of a run are written: what stands before them, and each of them as a line. */
interface ResultFormat {
  type: string;
  head: string;
  line(result: WireRunResult): string;
}

/** The formats of answers, by name; a new one is a line here. */
export const resultFormats = {
  ndjson: {
    type: 'application/x-ndjson',
    head: '',
    line: (result) => `${JSON.stringify(result)}\n`,
  },
  csv: {
    type: 'text/csv; charset=utf-8',
    head: csvLine(['line_id', ...answerColumns]),
    line: (result) => csvLine([result.line_id, ...answerCells(result)]),
  },
  openai: {
    type: 'application/jsonl',
    head: '',
    line: (result) => `${JSON.stringify(openAiLine(result))}\n`,
  },
} as const satisfies Record<string, ResultFormat>;
export type ResultFormatName = keyof typeof resultFormats;

/** The answers of a run in the order of its lines, made as they are read; others get a turn after each chunk. */
export function allResults(
  { runs }: Coordinator,
  name: string,
  format: ResultFormatName,
): AsyncGenerator<string> {
  const { head, line } = resultFormats[format];
  return inChunks(head, async function* () {
    for await (const jobs of runs.jobs(name)) {
      for (const job of jobs) yield line(presentRunResult(job.run?.lineId ?? job.id, job));
    }
  });
}

/** The answers to some lines, in their order. */
export function resultsOf(
  { runs }: Coordinator,
  name: string,
  lineIds: readonly string[],
): AsyncGenerator<string> {
  const { line } = resultFormats.ndjson;
  return inChunks('', async function* () {
    for (const lineId of lineIds) yield line(presentRunResult(lineId, await runs.job(name, lineId)));
  });
}

async function* inChunks(head: string, lines: () => AsyncGenerator<string>): AsyncGenerator<string> {
  let text = head;
  for await (const line of lines()) {
    text += line;
    if (text.length < chunkCharacters) continue;
    yield text;
    text = '';
    await ownTurn();
  }
  if (text !== '') yield text;
}
