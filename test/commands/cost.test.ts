import test, { type ExecutionContext } from 'ava';
import { sumText } from '../../src/commands/costSheet.ts';
import type { WireCostBreakdown, WireCostLine, WireCostSummary } from '../../src/domain/wire/cost.ts';
import { type Fixture, problem, serve } from '../client/server.ts';
import { svc } from './cli.ts';

const period = {
  period: 'day',
  from: '2026-11-20T23:00:00.000Z',
  to: '2026-11-21T09:30:00.000Z',
  timezone: 'Europe/Berlin',
  currency: 'USD',
} as const;

const totals = {
  total_cost_usd: 1.5,
  jobs: 1200,
  attempts: 1300,
  input_tokens: 1_000_000,
  output_tokens: 5_000,
  cached_input_tokens: 400_000,
  reasoning_tokens: 0,
  unknown_cost_attempts: 2,
};

const summary: WireCostSummary = {
  ...period,
  ...totals,
  previous: { from: '2026-11-19T23:00:00.000Z', to: period.from, ...totals, unknown_cost_attempts: 0 },
  series: [
    { from: '2026-11-20T23:00:00.000Z', cost_usd: 1.5, jobs: 1199, unknown_cost_attempts: 0 },
    { from: '2026-11-21T00:00:00.000Z', cost_usd: 0, jobs: 0, unknown_cost_attempts: 0 },
    { from: '2026-11-21T08:00:00.000Z', cost_usd: 0, jobs: 1, unknown_cost_attempts: 2 },
  ],
};

const line: WireCostLine = {
  cost_usd: 0.75,
  share: 0.5,
  jobs: 3,
  attempts: 4,
  input_tokens: 1_000,
  output_tokens: 20,
  unknown_cost_attempts: 0,
};

function serveCost(t: ExecutionContext, lists: Partial<WireCostBreakdown>): Promise<Fixture> {
  return serve(t, ({ path }) => {
    if (path === '/api/cost/summary') return { json: summary };
    if (path === '/api/cost/breakdown') return { json: { ...period, total_cost_usd: 1.5, ...lists } };
    return problem(404, 'not_found', 'There is nothing');
  });
}

test('a summary shows totals, the period before, and the hours in which something ended', async (t) => {
  const { url, seen } = await serveCost(t, {});
  const { code, stdout } = await svc(t, ['cost', 'summary', '--tz', 'Europe/Berlin', '--url', url]);
  t.is(code, 0);
  t.is(seen[0]?.query.toString(), 'tz=Europe%2FBerlin');
  t.is(
    stdout,
    `Period   day, 2026-11-21 00:00 to 2026-11-21 10:30, Europe/Berlin
Cost     ≥$1.50 (the day before: $1.50)
Jobs     1,200, in 1,300 attempts
Input    1,000,000 tokens, 400,000 of them cached
Output   5,000 tokens, 0 of them reasoning
Unknown  the cost of 2 attempts

HOUR    COST   JOBS
00:00  $1.50  1,199
09:00      ?      1
`,
  );
});

test('a breakdown shows each provider followed by its models', async (t) => {
  const providers = [
    {
      provider: 'openai',
      ...line,
      models: [
        { model: 'gpt-4o', ...line },
        { model: null, ...line },
      ],
    },
    { provider: 'gold', ...line, cost_usd: 0, share: 0, unknown_cost_attempts: 4, models: [] },
  ];
  const { url } = await serveCost(t, { providers });
  const { code, stdout, stderr } = await svc(t, ['cost', 'breakdown', '--url', url]);
  t.is(code, 0);
  t.is(
    stdout,
    `PROVIDER  MODEL    COST   SHARE  JOBS  ATTEMPTS  INPUT  OUTPUT  UNKNOWN
openai            $0.75  50.0 %     3         4  1,000      20        0
          gpt-4o  $0.75  50.0 %     3         4  1,000      20        0
          -       $0.75  50.0 %     3         4  1,000      20        0
gold                  ?   0.0 %     3         4  1,000      20        4
`,
  );
  t.regex(stderr, /day, 2026-11-21 00:00 to 2026-11-21 10:30, Europe\/Berlin/);
});

for (const [by, lists, header, first] of [
  [
    'model',
    { models: [{ provider: 'openai', model: 'gpt-4o', ...line }] },
    'PROVIDER  MODEL',
    'openai +gpt-4o',
  ],
  ['worker', { workers: [{ worker_id: 'w-1', name: null, ...line }] }, 'WORKER  ID', '- +w-1'],
  ['tag', { tags: [{ tag: 'nightly', ...line }] }, 'TAG', 'nightly'],
  ['tier', { tiers: [{ tier: null, ...line }] }, 'TIER', '-'],
] as const) {
  test(`a breakdown is by ${by} when it is asked for`, async (t) => {
    const { url, seen } = await serveCost(t, lists as unknown as Partial<WireCostBreakdown>);
    const args = ['cost', 'breakdown', '--by', by, '--period', 'month', '--url', url];
    const { stdout } = await svc(t, args);
    t.is(seen[0]?.query.toString(), `period=month&by=${by}`);
    const [head = '', row = ''] = stdout.split('\n');
    t.true(head.startsWith(header), head);
    t.regex(row, new RegExp(`^${first} +\\$0\\.75 +50\\.0 %`));
  });
}

test('--json prints what the API answered', async (t) => {
  const { url } = await serveCost(t, { tiers: [] });
  t.deepEqual(JSON.parse((await svc(t, ['cost', 'summary', '--json', '--url', url])).stdout), summary);
  const { stdout } = await svc(t, ['cost', 'breakdown', '--by', 'tier', '--json', '--url', url]);
  t.deepEqual(JSON.parse(stdout), { ...period, total_cost_usd: 1.5, tiers: [] });
});

test('nothing spent is said in words', async (t) => {
  const { url } = await serveCost(t, { providers: [] });
  const { code, stdout, stderr } = await svc(t, ['cost', 'breakdown', '--url', url]);
  t.is(code, 0);
  t.is(stdout, '');
  t.regex(stderr, /No attempt has ended yet \(day, 2026-11-21 00:00/);
});

test('days are chosen in place of a period, and are what the course is told by', async (t) => {
  const days: WireCostSummary = {
    ...summary,
    period: 'custom',
    from: '2026-11-01T00:00:00.000Z',
    to: '2026-11-16T00:00:00.000Z',
    timezone: 'UTC',
    series: [{ from: '2026-11-02T00:00:00.000Z', cost_usd: 1.5, jobs: 3, unknown_cost_attempts: 0 }],
  };
  const { url, seen } = await serve(t, () => ({ json: days }));
  const dates = ['--from', '2026-11-01', '--to', '2026-11-15'];
  const { stdout } = await svc(t, ['cost', 'summary', ...dates, '--url', url]);
  t.is(seen[0]?.query.toString(), 'from=2026-11-01&to=2026-11-15');
  t.regex(
    stdout,
    /^Period +days, 2026-11-01 00:00 to 2026-11-16 00:00, UTC\nCost .*\(same number of days before: /,
  );
  t.regex(stdout, /^2026-11-02 Mon +\$1\.50 +3$/m);
  await svc(t, ['cost', 'breakdown', ...dates, '--by', 'tag', '--url', url]);
  t.is(seen[1]?.query.toString(), 'from=2026-11-01&to=2026-11-15&by=tag');
  const both = await svc(t, ['cost', 'summary', '--period', 'day', ...dates, '--url', url]);
  t.is(both.code, 2);
  t.regex(both.stderr, /--from <date>' cannot be used with option '--period <period>'/);
});

test('a period or a breakdown that does not exist is wrong usage', async (t) => {
  const period = await svc(t, ['cost', 'summary', '--period', 'year']);
  t.is(period.code, 2);
  t.regex(period.stderr, /Allowed choices are day, week, month/);
  t.is((await svc(t, ['cost', 'breakdown', '--by', 'colour'])).code, 2);
});

test('unknown is never written as 0', (t) => {
  t.is(sumText(0, 0), '$0');
  t.is(sumText(0, 3), '?');
  t.is(sumText(0.5, 3), '≥$0.50');
  t.is(sumText(0.5, 0), '$0.50');
});
