/*
 * Measures the reports: `node test/cost/measure.ts [jobs]`. Not a test: nothing is asserted, the numbers are for docs/.
 * As many completed jobs as asked for, spread evenly over the month up to now: 10 models, 20 workers, 20 tags.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { costBreakdown, costSummary } from '../../src/coordinator/observe/costs.ts';
import { type BreakdownName, breakdowns, periodNames } from '../../src/domain/costReport.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { creation, headStart, ledgerEntry } from '../store/jobs.ts';
import { FakeClock } from '../support/fakeClock.ts';

const jobs = Number(process.argv[2] ?? 100_000);
const rounds = 30;
const folder = await mkdtemp(join(tmpdir(), 'svc-cost-'));
const now = Date.parse('2026-11-30T12:00:00Z');
const first = Date.parse('2026-11-01');
const clock = new FakeClock(now);
const store = createJsonStore({ path: join(folder, 'data'), clock, headStart });
await store.open();

let made = 0;
while (made < jobs) {
  const batch = Array.from({ length: Math.min(1_000, jobs - made) }, (_, i) => {
    const n = made + i;
    const at = first + Math.floor(((now - first) * n) / jobs);
    const amounts = { jobs: 1, attempts: 1, nanoDollars: 3_250_000, unknown: 0, inputTokens: 1_000 };
    const place = { at, provider: `p${n % 3}`, model: `m${n % 10}`, tags: [`t${n % 20}`], amounts };
    return { ...creation(`job-${n}`, { at }), ledger: [ledgerEntry(`w${n % 20}`, 'completed', place)] };
  });
  await store.commit(batch);
  made += batch.length;
}

async function median(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[rounds / 2] ?? 0;
}

function say(what: string, ms: number): void {
  process.stdout.write(`${what.padEnd(50)} ${ms.toFixed(2).padStart(8)} ms\n`);
}

process.stdout.write(`${jobs} jobs\n`);
for (const period of periodNames) {
  say(`summary, ${period}`, await median(() => costSummary({ store, clock }, period, 'Europe/Berlin')));
}
for (const by of breakdowns as readonly BreakdownName[]) {
  say(`breakdown, month, by ${by}`, await median(() => costBreakdown({ store, clock }, by, 'month', 'UTC')));
}
await store.close();
await rm(folder, { recursive: true });
