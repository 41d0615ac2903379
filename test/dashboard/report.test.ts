import test from 'ava';
import {
  askFor,
  change,
  csvOf,
  isByHour,
  linesOf,
  readReportQuery,
  sumText,
  today,
} from '../../src/dashboard/pages/cost/report.ts';
import type { WireCostBreakdown, WireCostSummary } from '../../src/domain/wire/cost.ts';

const asked = (query: string) => readReportQuery(new URLSearchParams(query), 'Europe/Berlin');

test('the address says what a report is of, and what it does not know is passed over', (t) => {
  t.deepEqual(asked(''), { period: 'day', from: '', to: '', zone: 'Europe/Berlin', by: 'provider' });
  t.like(asked('period=week&by=tag&tz=UTC'), { period: 'week', by: 'tag', zone: 'UTC' });
  t.like(asked('period=year&by=colour'), { period: 'day', by: 'provider' });
  t.deepEqual(askFor(asked('from=2026-11-01&to=2026-11-05')), {
    from: '2026-11-01',
    to: '2026-11-05',
    tz: 'Europe/Berlin',
  });
  t.deepEqual(askFor(asked('from=2026-11-01')), { period: 'day', tz: 'Europe/Berlin' }, 'one edge is none');
  t.is(today(Date.parse('2026-11-21T23:30:00Z'), 'Europe/Berlin'), '2026-11-22');
});

test('one day is told by its hours, more by their days', (t) => {
  for (const query of ['', 'period=day', 'from=2026-11-01&to=2026-11-01'])
    t.true(isByHour(asked(query)), query);
  for (const query of ['period=week', 'period=month', 'from=2026-11-01&to=2026-11-02'])
    t.false(isByHour(asked(query)), query);
});

test('what nobody knows is never shown as 0', (t) => {
  t.is(sumText(0, 0), '$0');
  t.is(sumText(0, 3), 'unknown');
  t.is(sumText(1.5, 3), '$1.50 or more');
  t.is(sumText(1.5, 0), '$1.50');
});

const summary = (now: number, before: number, unknown = 0): WireCostSummary =>
  ({
    total_cost_usd: now,
    unknown_cost_attempts: unknown,
    previous: { total_cost_usd: before, unknown_cost_attempts: 0 },
  }) as unknown as WireCostSummary;

test('sums are compared only where both are known whole', (t) => {
  t.deepEqual(change(summary(3, 2)), { percent: 50 });
  t.deepEqual(change(summary(1, 2)), { percent: -50 });
  t.is(change(summary(3, 0)), null);
  t.is(change(summary(3, 2, 1)), null);
});

const figures = {
  cost_usd: 0,
  share: 0,
  jobs: 1,
  attempts: 2,
  input_tokens: 3,
  output_tokens: 4,
  unknown_cost_attempts: 0,
};
const breakdown = (lists: Partial<WireCostBreakdown>): WireCostBreakdown =>
  lists as unknown as WireCostBreakdown;

test('every breakdown has lines with names, and leads to the jobs where there is a list of them', (t) => {
  const line = (lists: Partial<WireCostBreakdown>) => {
    const [first] = linesOf(breakdown(lists));
    return [first?.name, first?.detail, first?.list];
  };
  t.deepEqual(line({ providers: [{ provider: 'echo', models: [], ...figures }] }), [
    'echo',
    null,
    { provider: 'echo' },
  ]);
  t.deepEqual(line({ models: [{ provider: 'p', model: 'm', ...figures }] }), ['m', 'p', { model: 'm' }]);
  t.deepEqual(line({ models: [{ provider: 'p', model: null, ...figures }] }), [
    'no model reported',
    'p',
    null,
  ]);
  t.deepEqual(line({ workers: [{ worker_id: 'id', name: 'box', ...figures }] }), [
    'box',
    null,
    { worker: 'id' },
  ]);
  t.deepEqual(line({ workers: [{ worker_id: 'id', name: null, ...figures }] })[1], 'forgotten');
  t.deepEqual(line({ tags: [{ tag: null, ...figures }] }), ['without a tag', null, null]);
  t.deepEqual(line({ tiers: [{ tier: 'batch', ...figures }] }), ['batch', null, { tier: 'batch' }]);
  t.deepEqual(linesOf(breakdown({})), []);
});

test('CSV keeps names whole, runs no formula, and leaves unknown cost empty', (t) => {
  const lines = linesOf(
    breakdown({
      tags: [
        { tag: 'a,"b"', ...figures, cost_usd: 0.25 },
        { tag: '=1+1', ...figures, unknown_cost_attempts: 2 },
      ],
    }),
  );
  t.deepEqual(csvOf(lines, 'tag').split('\r\n'), [
    'tag,detail,cost_usd,unknown_cost_attempts,jobs,attempts,input_tokens,output_tokens',
    '"a,""b""",,0.25,0,1,2,3,4',
    "'=1+1,,,2,1,2,3,4",
    '',
  ]);
});
