import { machineFacts, packageVersion } from '../peers/facts.ts';
import { replacePart, shown, table } from '../peers/report.ts';
import { type Bench, type Figure, figureOf, type RunOrigin } from '../support/scenario.ts';
import { percentile } from '../support/statistics.ts';
import { type Name, names } from './systems.ts';
import type { Measured, Turn } from './turn.ts';

const start = '<!-- gateway: written by bench/run.ts gateway; edits between these lines are lost -->';
const end = '<!-- end of gateway -->';

/** A line of the table: the direct call's value, and what each way adds to it. */
interface Line {
  name: string;
  unit: string;
  values: readonly { name: Name; value: number }[];
}

type Times = 'wholeMs' | 'firstMs' | 'gapsMs';
const streamTimes: readonly [Times, string][] = [
  ['firstMs', 'first token'],
  ['gapsMs', 'gap between tokens'],
];

/** What the lines show, in their order. */
function linesOf(measured: readonly Measured[]): Line[] {
  const kinds = [
    { kind: 'whole', times: [['wholeMs', 'whole call']] satisfies [Times, string][] },
    { kind: 'stream', times: streamTimes },
  ] as const;
  return kinds.flatMap(({ kind, times }) => {
    const settings = measured.filter(({ setting }) => setting.kind === kind);
    return [
      ...times.flatMap(([of, what]) =>
        settings.flatMap((one) =>
          (
            [
              ['p50', 0.5],
              ['p99', 0.99],
            ] as const
          ).map(([label, share]) =>
            line(one, `${what} ${label}`, 'ms', (turn) => percentile(turn[of], share)),
          ),
        ),
      ),
      ...settings.map((one) =>
        line(
          one,
          `processor time of a ${kind === 'whole' ? 'whole call' : 'stream'}`,
          'ms',
          (turn) => turn.cpuMs / turn.calls,
        ),
      ),
    ];
  });
}

function line({ setting, turns }: Measured, what: string, unit: string, of: (turn: Turn) => number): Line {
  return {
    name: `${what}, ${setting.atOnce} at once`,
    unit,
    values: names.flatMap((name) => {
      const turn = turns.get(name);
      return turn === undefined ? [] : [{ name, value: of(turn) }];
    }),
  };
}

/** Every time of every way, against the direct call of the same run. */
export function gatewayFigures(measured: readonly Measured[]): Figure[] {
  return linesOf(measured).flatMap(({ name, unit, values }) => {
    const direct = values.find((one) => one.name === 'direct')?.value ?? Number.NaN;
    return values.map((one): Figure => {
      const figure = figureOf(`${name}: ${one.name}`, one.value, unit);
      const isCompared = one.name !== 'direct' && direct > 0;
      return isCompared ? { ...figure, ratio: one.value / direct, against: 'direct' } : figure;
    });
  });
}

/** Write the comparison's part of docs/performance.md. */
export function writeGateway(bench: Bench, origin: RunOrigin, measured: readonly Measured[]): void {
  const facts = [
    ...machineFacts(bench, origin.loadBefore),
    packageVersion('@portkey-ai/gateway'),
    `Calls of each: ${callsOf(measured)}`,
  ];
  const rows = linesOf(measured).map(({ name, values }) => [
    name,
    ...names.map((column) => cell(column, values)),
  ]);
  const head = ['ms', 'direct', ...names.filter((name) => name !== 'direct').map((name) => `${name}`)];
  const part = `Measured ${origin.date} with \`${origin.command}\`:

${facts.map((fact) => `- ${fact}`).join('\n')}

${table([head, ...rows], true)}`;
  replacePart(start, end, part);
}

/** The direct call's time; what the others add to it, with the ratio to it. */
function cell(name: Name, values: Line['values']): string {
  const of = (wanted: Name) => values.find((one) => one.name === wanted)?.value ?? Number.NaN;
  const [value, direct] = [of(name), of('direct')];
  if (name === 'direct') return direct === 0 ? '' : shown(direct);
  if (direct === 0) return shown(value);
  const added = value - direct;
  return `${added < 0 ? '−' : '+'}${shown(Math.abs(added))} (${shown(value / direct)} ×)`;
}

function callsOf(measured: readonly Measured[]): string {
  return measured
    .map(({ setting, turns }) => {
      const calls = turns.get('direct')?.calls ?? 0;
      return `${calls.toLocaleString('en')} ${setting.kind === 'whole' ? 'whole' : 'streamed'} at ${setting.atOnce} at once`;
    })
    .join(', ');
}
