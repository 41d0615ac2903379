import { breakdowns } from '../../../domain/costReport.ts';
import { word } from '../../query.ts';
import { defineRoute, type Route } from '../../route.ts';
import { checkPeriod, periodParameters, spanOf } from './parameters.ts';
import { presentBreakdown, presentSummary } from './present.ts';
import { costBreakdownShape, costSummaryShape } from './shape.ts';

const getCostSummary = defineRoute({
  method: 'GET',
  path: '/api/cost/summary',
  role: 'viewer',
  name: 'getCostSummary',
  tag: 'Cost',
  summary: 'What was spent in a calendar period',
  description:
    'The day from midnight, the week from Monday or the month from the 1st, up to now, in the time zone `tz`. An attempt counts in the period of its end. The response takes as long with a million jobs as with ten.',

  query: periodParameters,
  checkQuery: checkPeriod,
  answers: {
    200: {
      description: 'Totals of the period and of the one before, and the values over time.',
      shape: costSummaryShape,
    },
  },

  handle: async ({ query }, { coordinator }) => ({
    json: presentSummary(await coordinator.costSummary(spanOf(query), query.tz)),
  }),
});

const getCostBreakdown = defineRoute({
  method: 'GET',
  path: '/api/cost/breakdown',
  role: 'viewer',
  name: 'getCostBreakdown',
  tag: 'Cost',
  summary: 'What it was spent on',
  description: 'The period of the summary, by provider with its models, or by what `by` says.',

  query: { ...periodParameters, by: word(breakdowns, {}, 'provider') },
  checkQuery: checkPeriod,
  answers: {
    200: { description: 'The lines, most expensive first.', shape: costBreakdownShape },
  },

  handle: async ({ query }, { coordinator }) => ({
    json: presentBreakdown(await coordinator.costBreakdown(query.by ?? 'provider', spanOf(query), query.tz)),
  }),
});

/** /api/cost: what was spent in a calendar period, and on what. */
export const costRoutes: readonly Route[] = [getCostSummary, getCostBreakdown];
