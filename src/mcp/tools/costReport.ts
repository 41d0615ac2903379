import { breakdowns, type CostBreakdown, type CostLine } from '../../domain/costReport.ts';
import type { WireCostLine, WireCostTotals } from '../../domain/wire/cost.ts';
import { Query, readParameters, word } from '../../http/query.ts';
import { checkPeriod, periodParameters, spanOf } from '../../http/routes/cost/parameters.ts';
import { presentLine, presentSummary } from '../../http/routes/cost/present.ts';
import { timeShape } from '../../http/shape/common.ts';
import { count, list, nullable, number, object, text } from '../../http/shape/shape.ts';
import type { Fields } from '../../lib/fields.ts';
import { own, untrusted } from '../frame.ts';
import { propertiesOf } from './properties.ts';
import { fault } from './submitting.ts';
import { defineTool } from './tool.ts';

/** Lines of a report; there may be as many tags as jobs. */
const linesMax = 50;

const parameters = {
  ...periodParameters,
  by: word(breakdowns, { description: 'What to break the cost down by.' }, 'provider'),
};

type ToolCostLine = { name: string | null } & WireCostLine;

interface CostReport extends WireCostTotals {
  from: string;
  to: string;
  timezone: string;
  previous_cost_usd: number;
  by: string;
  lines: ToolCostLine[];
  /** Lines that are left out, the cheapest. */
  more_lines: number;
}

export const costReport = defineTool<CostReport>({
  name: 'cost_report',
  title: 'Report what was spent',
  role: 'viewer',
  description:
    'What jobs cost in US dollars in the current day, week or month, or from a first to a last day, and what it was spent on. Attempts without a known price are counted apart.',
  input: {
    type: 'object',
    additionalProperties: false,
    properties: propertiesOf(parameters),
  },
  output: object<CostReport>({
    from: timeShape,
    to: timeShape,
    timezone: text(),
    total_cost_usd: number('Of the attempts whose cost is known.'),
    previous_cost_usd: number('Of the whole period before.'),
    jobs: count(),
    attempts: count(),
    input_tokens: count(),
    output_tokens: count(),
    cached_input_tokens: count(),
    reasoning_tokens: count(),
    unknown_cost_attempts: count('Attempts whose cost is not known.'),
    by: text(),
    lines: list(
      object<ToolCostLine>({
        name: nullable(text(), 'null: jobs without one, for example without a tag.'),
        cost_usd: number(),
        share: number('Of the total, 0 to 1.'),
        jobs: count(),
        attempts: count(),
        input_tokens: count(),
        output_tokens: count(),
        unknown_cost_attempts: count(),
      }),
      'The most expensive first.',
    ),
    more_lines: count(`Lines beyond the first ${linesMax}.`),
  }),

  call: async (args, { parts: { coordinator } }) => {
    const query = new Query(textsOf(args));
    const asked = readParameters(parameters, query);
    checkPeriod(asked, (field, message) => query.fault(field, message));
    query.done();
    const by = asked.by ?? 'provider';
    const span = spanOf(asked);
    const {
      previous,
      series: _series,
      period: _period,
      currency: _currency,
      ...totals
    } = presentSummary(await coordinator.costSummary(span, asked.tz));
    const breakdown = await coordinator.costBreakdown(by, span, asked.tz);
    const structured: CostReport = {
      ...totals,
      previous_cost_usd: previous.total_cost_usd,
      by,
      lines: breakdown.lines.slice(0, linesMax).map((line) => presentToolLine(line, breakdown)),
      more_lines: Math.max(0, breakdown.lines.length - linesMax),
    };
    const summary = `${structured.jobs} jobs cost $${structured.total_cost_usd} from ${structured.from} to ${structured.to}.`;
    return { structured, text: [own(summary), untrusted(`cost by ${by}`, JSON.stringify(structured))] };
  },
});

/** @throws CoordinatorError invalid_request. */
function textsOf(args: Fields): Record<string, string> {
  const texts = Object.entries(args).map(([name, value]): [string, string] => {
    if (typeof value === 'string') return [name, value];
    throw fault(name, 'must be a string');
  });
  return Object.fromEntries(texts);
}

function presentToolLine(line: CostLine, { by, workerNames }: CostBreakdown): ToolCostLine {
  const [first = null, second] = line.key;
  const name = by === 'worker' && first !== null ? (workerNames.get(first) ?? first) : first;
  return { name: second === undefined ? name : `${name}/${second ?? '?'}`, ...presentLine(line) };
}
