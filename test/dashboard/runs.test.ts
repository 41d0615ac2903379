import test from 'ava';
import { attentionOfRuns } from '../../src/dashboard/pages/overview/runAttention.ts';
import { byClass } from '../../src/dashboard/pages/runs/failureClasses.ts';
import { changedLimits, textsOf } from '../../src/dashboard/pages/runs/limits.ts';
import { NewerRuns } from '../../src/dashboard/pages/runs/newerRuns.ts';
import type { WireLiveRun } from '../../src/domain/wire/run.ts';
import { faultsOf, overflowOf, pageTests } from './support/browser.ts';
import { type Site, siteKey } from './support/site.ts';

const markup = '<img src=x onerror="alert(1)"><b>bold</b>';

async function post(site: Site, path: string, body: unknown): Promise<void> {
  const response = await fetch(site.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${siteKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
}

async function sendRun(
  site: Site,
  run: { name: string } & Record<string, unknown>,
  params: readonly Record<string, unknown>[],
): Promise<void> {
  await post(site, '/api/runs', { defaults: { provider: 'echo', model: 'echo-small' }, ...run });
  const jobs = params.map((given, at) => ({
    line_id: `line-${at + 1}`,
    prompt: `Mail ${at + 1}`,
    params: given,
  }));
  await post(site, `/api/runs/${run.name}/jobs`, { jobs });
}

async function ended(site: Site, name: string): Promise<void> {
  for (;;) {
    const { counts, status } = await site.client.run(name);
    if (counts.pending === 0 && counts.running === 0 && status === 'completed') return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const answers = { echo_tokens: { input: 10, output: 3 } };
const filtered = { echo_fail: { class: 'content_filtered', message: markup } };
const invalid = { echo_fail: { class: 'invalid_request', message: 'x'.repeat(290) } };

async function prepare(site: Site): Promise<void> {
  await sendRun(site, { name: 'mixed' }, [answers, filtered, filtered, invalid]);
  await ended(site, 'mixed');
}

const live: WireLiveRun = {
  id: 'r1',
  name: 'one',
  status: 'running',
  created_at: '2026-11-21T09:00:00.000Z',
  created_by: null,
  finished_at: null,
  max_cost_usd: 2.5,
  max_failures: null,
  deadline: '2026-11-22T09:00:00.000Z',
  output_retries: null,
  counts: { total: 0, pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0 },
  cost_usd: 0,
  cost_reserved_usd: 0,
  cost_expected_usd: null,
  unknown_cost_attempts: 0,
  input_tokens: 0,
  output_tokens: 0,
  rate_per_minute: 0,
  eta: null,
  failures: [],
  paused: null,
};

test('only limits that were changed are sent, and an empty one is none', (t) => {
  const texts = textsOf(live);
  t.deepEqual(changedLimits(texts, live), {});
  t.deepEqual(changedLimits({ ...texts, maxCost: ' $ 10 ', maxFailures: '3' }, live), {
    max_cost_usd: 10,
    max_failures: 3,
  });
  t.deepEqual(changedLimits({ maxCost: '', maxFailures: '', deadline: '' }, live), {
    max_cost_usd: null,
    deadline: null,
  });
  const later = { ...live, deadline: '2026-12-24T09:30:00.000Z' };
  t.deepEqual(changedLimits(textsOf(later), live), { deadline: later.deadline });
  for (const wrong of [
    { maxCost: '-1' },
    { maxCost: 'Infinity' },
    { maxFailures: '0' },
    { maxFailures: '1.5' },
  ])
    t.is(typeof changedLimits({ ...texts, ...wrong }, live), 'string', JSON.stringify(wrong));
});

test('an event during a request is newer than its answer, one before it is not', (t) => {
  const newer = new NewerRuns();
  newer.add({ ...live, rate_per_minute: 1 });
  t.is(newer.over(live).rate_per_minute, 1);
  const answered = newer.begin();
  newer.add({ ...live, id: 'r2', rate_per_minute: 2 });
  answered();
  t.is(newer.over(live).rate_per_minute, 0);
  t.is(newer.over({ ...live, id: 'r2' }).rate_per_minute, 2);
});

test('a paused run needs attention, and failures are grouped by the class that a retry takes', (t) => {
  const paused = { reason: 'max_cost', detail: 'It is spent; raise it', at: live.created_at } as const;
  t.like(attentionOfRuns([live, { ...live, status: 'paused', paused }]), {
    length: 1,
    0: { text: 'The run one is paused', advice: 'It is spent; raise it.', path: '/runs/one' },
  });
  const failure = { class: 'timeout', code: 'a', message: '', count: 2, job_id: 'j' } as const;
  const groups = byClass([{ ...failure, class: 'auth', count: 3 }, failure, { ...failure, code: 'b' }]);
  t.deepEqual(
    groups.map(({ errorClass, jobs }) => [errorClass, jobs]),
    [
      ['timeout', 4],
      ['auth', 3],
    ],
  );
});

pageTests({ slots: 2, prepare }, (stage) => {
  test.serial(
    'from the list to a run: its failures by class, as text; a retry changes its counts',
    async (t) => {
      const { page, misdeeds } = await stage().open(t);
      await page.keyboard.press('g');
      await page.keyboard.press('r');
      await page.getByText('4 of 4, 3 failed').click();
      await page.getByRole('heading', { name: 'mixed' }).waitFor();
      const failures = page.getByRole('listitem').filter({ hasText: 'content_filtered' });
      await failures.getByText(markup).waitFor();
      t.is(await page.locator('main img').count(), 0);
      await page.getByRole('link', { name: '3 failed', exact: true }).waitFor();
      const seen = page.getByText('2 jobs are back in the queue');
      await page.getByRole('button', { name: 'Retry these with content_filtered' }).click();
      await seen.waitFor();
      await ended(stage().site, 'mixed');
      const { jobs } = await stage().site.client.jobs({ run: 'mixed', status: 'failed' });
      t.deepEqual(jobs.map(({ retry_count: retries }) => retries > 0).sort(), [false, true, true]);
      await page.getByText('One for each line, in their order.').waitFor();
      await page.getByRole('link', { name: 'One of them with invalid_request' }).click();
      await page.getByRole('link', { name: 'mixed' }).waitFor();
      await page.getByText('line-4', { exact: true }).waitFor();
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial('the failed jobs of a run are a list of jobs with a filter that can be removed', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/runs/mixed');
    await page.getByRole('link', { name: '3 failed', exact: true }).click();
    await page.waitForURL(/\/jobs\?run=mixed&status=failed$/);
    await page.locator('tbody .job-row').getByRole('link', { name: 'Mail 4' }).waitFor();
    t.is(await page.locator('tbody .job-row').count(), 3);
    await page.getByRole('button', { name: 'Run: mixed' }).click();
    await page.waitForURL(/\/jobs\?status=failed$/);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a run paused by its budget says so everywhere, and goes on with a higher one', async (t) => {
    const { site } = stage();
    const { page, misdeeds } = await stage().open(t);
    misdeeds.expect(/status of 409/);
    await sendRun(
      site,
      { name: 'dear', max_cost_usd: 0 },
      Array.from({ length: 6 }, () => answers),
    );
    await page.getByRole('link', { name: 'The run dear is paused' }).click();
    await page.getByText('Paused: its budget is used up').waitFor();
    await page.getByRole('link', { name: '6 waiting' }).waitFor();
    await page.getByRole('button', { name: 'Change the limit and resume' }).click();
    const budget = page.getByRole('textbox', { name: 'Budget in dollars' });
    t.true(await budget.evaluate((field) => field === field.ownerDocument.activeElement));
    await budget.press('Enter');
    await page.getByRole('alert').getByText('give a higher one').waitFor();
    await budget.fill('lots');
    await budget.press('Enter');
    await page.getByRole('alert').getByText('a number of dollars').waitFor();
    await budget.fill('10');
    await budget.press('Enter');
    await page.getByText('dear is resumed').waitFor();
    // Told by a live event: nothing else loads it again.
    await page.locator('.page-title').getByText('Completed').waitFor();
    await page.getByRole('link', { name: '6 completed' }).waitFor();
    t.is((await site.client.run('dear')).max_cost_usd, 10);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a run is paused, resumed and, after a question, cancelled', async (t) => {
    const { site } = stage();
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/runs?status=running');
    await page.getByText('No run has this status').waitFor();
    await sendRun(
      site,
      { name: 'slow' },
      Array.from({ length: 8 }, () => ({ echo_delay_ms: 600_000 })),
    );
    await page.getByRole('link', { name: 'slow' }).click();
    await page.getByText('Every slot of the workers that fit is taken').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('resume the run to go on').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('8 jobs that have not ended will be cancelled').waitFor();
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await page.getByRole('link', { name: '8 cancelled' }).waitFor();
    t.is(await page.getByRole('button', { name: /Pause|Resume|Retry|Cancel/ }).count(), 0);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('the answers are saved as a file', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/runs/mixed');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const file = await saved;
    t.is(file.suggestedFilename(), 'mixed.csv');
    await page.getByText('The answers of mixed are saved').waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  for (const look of [{ theme: 'light' }, { theme: 'dark', width: 360 }] as const) {
    test.serial(
      `batches are among the runs, and say what is wrong with their file: ${JSON.stringify(look)}`,
      async (t) => {
        const { site } = stage();
        const request = (id: string, model: string) => {
          return { custom_id: id, body: { model, messages: [{ role: 'user', content: markup }] } };
        };
        const endpoint = '/v1/chat/completions';
        await post(site, '/v1/batches', { endpoint, requests: [request('a', 'echo'), request('b', 'echo')] });
        await post(site, '/v1/batches', { endpoint, requests: [request('a', markup), request('a', 'echo')] });
        const { page, misdeeds } = await stage().open(t, look);
        await page.goto('/runs');
        const rows = page.getByRole('row').filter({ hasText: 'batch_' });
        await rows.filter({ hasText: 'Completed' }).first().waitFor();
        t.deepEqual(await faultsOf(page), []);
        t.is(await overflowOf(page), 0);
        await rows.filter({ hasText: 'Failed' }).first().getByRole('link').first().click();
        await page.getByRole('heading', { name: 'Batch', exact: true }).waitFor();
        await page.getByText('Line 1:').waitFor();
        await page
          .getByText(/^file-[0-9a-f]{32}$/)
          .first()
          .waitFor();
        t.is(await page.locator('main img').count(), 0);
        t.deepEqual(await faultsOf(page), []);
        t.is(await overflowOf(page), 0);
        t.deepEqual(misdeeds.found, []);
      },
    );
  }

  for (const look of [{ theme: 'light' }, { theme: 'dark', width: 1110 }, { width: 360 }] as const) {
    test.serial(`a viewer sees runs and no way to change them: ${JSON.stringify(look)}`, async (t) => {
      const { key } = await stage().site.client.createKey({ role: 'viewer' });
      const { page, misdeeds } = await stage().open(t, { key, ...look });
      await page.goto('/runs');
      await page.getByRole('link', { name: 'mixed' }).waitFor();
      t.deepEqual(await faultsOf(page), []);
      t.is(await overflowOf(page), 0);
      await page.getByRole('link', { name: 'mixed' }).click();
      await page.getByText(markup).waitFor();
      const buttons = await page.locator('main button').allInnerTexts();
      t.deepEqual(buttons.sort(), ['CSV', 'NDJSON', 'OpenAI batch']);
      t.deepEqual(await faultsOf(page), []);
      t.is(await overflowOf(page), 0);
      t.deepEqual(misdeeds.found, []);
    });
  }
});
