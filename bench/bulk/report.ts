import { machineFacts, packageVersion, programVersion } from '../peers/facts.ts';
import { replacePart, shown, table } from '../peers/report.ts';
import { type Bench, type Figure, figureOf, type RunOrigin } from '../support/scenario.ts';
import type { Contender, Run } from './contenders.ts';
import { idealMs, type Limit } from './limits.ts';
import type { Tally } from './messages.ts';

const start = '<!-- bulk: written by bench/run.ts bulk; edits between these lines are lost -->';
const end = '<!-- end of bulk -->';

/** What each contender made of one limit. */
export interface BulkCase {
  limit: Limit;
  prompts: number;
  /** Share of the machine that was in use while they ran. */
  busy: number;
  results: readonly { contender: Contender; run: Run; tally: Tally }[];
}

/** Times against what the limit allows, and what each wasted. */
export function bulkFigures(cases: readonly BulkCase[]): Figure[] {
  return cases.flatMap(({ limit, prompts, results, busy }) => {
    const ideal = (run: Run) => idealMs(limit, run.answered);
    return [
      ...results.flatMap(({ contender, run, tally }) => {
        const name = `${nameOf(limit)}, ${contenderName(contender)}`;
        return [
          {
            ...figureOf(`${name}: ${prompts} prompts`, run.ms / 1000, 's'),
            ratio: run.ms / ideal(run),
            against: 'what the limit allows',
          },
          figureOf('  answered', run.answered, ''),
          figureOf('  429s', tally.refused, ''),
          figureOf('  paid twice', tally.paidAgain, ''),
        ];
      }),
      figureOf(`${nameOf(limit)}: share of the machine that was in use`, busy, ''),
    ];
  });
}

function contenderName({ name, isTold }: Contender): string {
  return isTold ? `${name} that knows it` : name;
}

function nameOf(limit: Limit): string {
  return limit.kind === 'rate'
    ? `${(limit.perSecond * 60).toLocaleString('en')} requests a minute`
    : `${limit.atOnce} requests at once`;
}

/** Write the comparison's part of docs/performance.md. */
export function writeBulk(bench: Bench, origin: RunOrigin, cases: readonly BulkCase[]): void {
  const facts = [
    ...machineFacts(bench, origin.loadBefore),
    ...cases.map(
      ({ limit, prompts, busy }) =>
        `${nameOf(limit)}: ${prompts} prompts, which the limit allows in ${shown(idealMs(limit, prompts) / 1000)} s; up to ${(busy * 100).toFixed(0)} % of the machine was in use`,
    ),
    `${['bullmq', 'ioredis'].map(packageVersion).join(', ')}; ${programVersion('redis-server')}`,
  ];
  const rows = cases.flatMap(({ limit, prompts, results }) =>
    results.map(({ contender, run, tally }) => [
      `${nameOf(limit)}: ${contenderName(contender)}`,
      shown(run.ms / 1000),
      `${shown(run.ms / idealMs(limit, run.answered))} ×`,
      String(tally.refused),
      String(tally.paidAgain),
      String(prompts - run.answered),
    ]),
  );
  const head = ['', 'time, s', 'against the ideal', '429s', 'paid twice', 'prompts that failed'];
  const part = `Measured ${origin.date} with \`${origin.command}\`:

${facts.map((fact) => `- ${fact}`).join('\n')}

${table([head, ...rows], true)}`;
  replacePart(start, end, part);
}
