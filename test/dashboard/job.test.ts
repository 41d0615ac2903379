import test from 'ava';
import type { Page } from 'playwright-core';
import { faultsOf, overflowOf, pageTests, showStates } from './support/browser.ts';
import { startPrefixProxy } from './support/prefix.ts';
import { startRelay } from './support/relay.ts';
import { type Site, siteKey } from './support/site.ts';
import { connectWorker } from './support/workers.ts';

const story = 'Once upon a time there was a queue. ';
/** What a hostile model would say, and a hostile prompt would hold. */
const hostile =
  '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>[a](javascript:alert(1))';

async function ended(site: Site, params: Record<string, unknown>, prompt = 'Say it'): Promise<string> {
  const { id } = await site.client.dispatch({ prompt, provider: 'echo', model: 'echo-small', params });
  await site.client.waitFor(id);
  return id;
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 2, name, exact: true });

pageTests({ slots: 3 }, (stage) => {
  test.serial('output appears while it streams, and the result when it has ended', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await showStates(page);
    const { id } = await stage().site.client.dispatch({
      prompt: 'Tell a story',
      provider: 'echo',
      model: 'echo-small',
      params: { echo_delay_ms: 4_000, echo_output: story.repeat(40) },
    });
    await page.goto(`/jobs/${id}`);
    const log = page.getByRole('log', { name: 'Output so far' });
    await log.getByText('Once upon').waitFor();
    const lengthOf = async (): Promise<number> => (await log.textContent())?.length ?? 0;
    const before = await lengthOf();
    t.true(before < story.length * 40, 'it was seen before its end');
    await page.waitForFunction(
      (length) => (document.querySelector('[role=log]')?.textContent?.length ?? 0) > length,
      before,
    );
    await heading(page, 'Result').waitFor();
    t.is(await log.count(), 0);
    t.is(await page.locator('.text-block').first().textContent(), story.repeat(40));
    await page.getByRole('heading', { level: 1 }).locator('..').getByText('Completed').waitFor();
    await page.locator('.state.is-current', { hasText: 'completed' }).waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  test.serial(
    'reasoning and tool calls are set apart from the output, as they stream and for who comes late',
    async (t) => {
      const { page, misdeeds } = await stage().open(t);
      const { id } = await stage().site.client.dispatch({
        prompt: 'Look it up',
        provider: 'echo',
        model: 'echo-small',
        params: {
          echo_delay_ms: 8_000,
          echo_reasoning: `They ask. ${hostile}`,
          echo_output: story,
          echo_tool_calls: [{ name: 'weather', arguments: { city: 'Bern', more: 'x'.repeat(600) } }],
        },
      });
      await page.goto(`/jobs/${id}`);
      const log = page.getByRole('log', { name: 'Output so far' });
      const aside = log.locator('.aside');
      await aside.getByText('They ask.').waitFor();
      await aside.getByText('→ weather {"city":"Bern"').waitFor();
      t.is(await aside.count(), 2);
      t.is(await aside.first().textContent(), `They ask. ${hostile}`);
      await page.reload();
      await aside.getByText('→ weather {"city":"Bern"').waitFor();
      t.is(await aside.first().textContent(), `They ask. ${hostile}`);
      t.true((await log.textContent())?.includes(story));
      await heading(page, 'Tool calls').waitFor();
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial('a text that a model or a client wrote is shown as it is and does nothing', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    const id = await ended(stage().site, { echo_output: hostile }, hostile);
    for (const path of [`/jobs/${id}`, '/jobs?q=img']) {
      await page.goto(path);
      await page.getByText('onerror').first().waitFor();
      t.is(await page.locator('main img, main script, main a[href^="javascript"]').count(), 0);
    }
    await page.goto(`/jobs/${id}`);
    await heading(page, 'Result').waitFor();
    await page.getByRole('button', { name: 'Raw' }).click();
    t.is(await page.locator('.text-block').first().textContent(), hostile);
    t.false((await page.title()).startsWith('taken'));
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a waiting job says what it waits for, and goes away at a cancel', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    const { id } = await stage().site.client.dispatch({ prompt: 'Wait', provider: 'nobody' });
    await page.goto(`/jobs/${id}`);
    const why = page.getByRole('region', { name: 'Why it waits' });
    await why.getByText('No worker is connected that can run it').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByText('The job is cancelled').waitFor();
    await why.waitFor({ state: 'detached' });
    t.is((await stage().site.client.job(id)).status, 'cancelled');
    t.is(await page.getByRole('button', { name: 'Cancel', exact: true }).count(), 0);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a stuck job says what became of it and what a retry does, which ends that', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await showStates(page);
    const { site } = stage();
    const worker = await connectWorker(site, { name: 'will-crash', providers: ['lonely'] });
    const { id } = await site.client.dispatch({
      prompt: 'Be left alone',
      provider: 'lonely',
      params: { echo_delay_ms: 600_000 },
    });
    await page.goto(`/jobs/${id}`);
    const status = page.getByRole('heading', { level: 1 }).locator('..');
    await status.getByText('Running').waitFor();
    await worker.crash();
    const why = page.getByRole('region', { name: 'Why it is stuck' });
    await why.getByText('Its worker crashed or lost the connection').waitFor();
    await why.getByText('If the worker returns in time, the job continues.').waitFor();
    await status.getByText('Stuck').waitFor();
    await page.locator('.state.is-current', { hasText: 'stuck' }).waitFor();
    await page.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.getByRole('region', { name: 'Why it waits' }).waitFor();
    t.is(await why.count(), 0);
    t.like(await site.client.job(id), { status: 'pending', stuck: false });
    await site.client.cancel(id);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a failed job says why, and a retry adds an attempt to it', async (t) => {
    const { page } = await stage().open(t);
    const params = { echo_fail: { class: 'content_filtered', message: 'the filter said no' } };
    const id = await ended(stage().site, params);
    await page.goto(`/jobs/${id}`);
    const why = page.getByRole('region', { name: 'Why it failed' });
    await why.getByText('the filter said no').waitFor();
    await page.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.getByText('The job is back in the queue').waitFor();
    await page.getByText('Attempt 2', { exact: true }).waitFor();
    t.is((await stage().site.client.waitFor(id)).attempt_count, 2);
  });

  test.serial('the chart of states is folded until it is asked for, and then stays', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    const id = await ended(stage().site, {});
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`/jobs/${id}`);
    await heading(page, 'States').waitFor();
    await heading(page, 'Result').waitFor();
    t.is(await page.locator('.statechart-picture').count(), 0);
    t.deepEqual(
      asked.filter((url) => url.endsWith('/history')),
      [],
    );
    await page.getByRole('button', { name: 'Show the states' }).click();
    await page.locator('.state.is-current', { hasText: 'completed' }).waitFor();
    await page.reload();
    await page.locator('.state.is-current', { hasText: 'completed' }).waitFor();
    await page.getByRole('button', { name: 'Hide the states' }).click();
    await page.reload();
    await heading(page, 'States').waitFor();
    t.is(await page.locator('.statechart-picture').count(), 0);
    await page.goto(`/jobs/${id}?e=1`);
    await page.locator('.state.is-current', { hasText: 'ready' }).waitFor();
    await page.getByRole('button', { name: 'Hide the states' }).click();
    await page.waitForURL(/\/jobs\/[0-9a-f-]+$/);
    t.is(await page.locator('.statechart-picture').count(), 0);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('the history is walked with the slider, and its place is in the address', async (t) => {
    const { page } = await stage().open(t);
    await showStates(page);
    const id = await ended(stage().site, {});
    await page.goto(`/jobs/${id}`);
    const slider = page.getByRole('slider', { name: 'Moment of the history' });
    await slider.focus();
    await page.keyboard.press('Home');
    await page.waitForURL(/e=1$/);
    await page.locator('.state.is-current', { hasText: 'ready' }).waitFor();
    await page.reload();
    await page.locator('.state.is-current', { hasText: 'ready' }).waitFor();
    await page.getByRole('button', { name: 'One step on' }).click();
    await page.locator('.state.is-current', { hasText: 'active' }).waitFor();
    t.regex(page.url(), /e=2$/);
  });

  test.serial('a long text is cut until it is asked for, and copied whole', async (t) => {
    const { page } = await stage().open(t);
    const text = 'words and more words\n'.repeat(5_000);
    const id = await ended(stage().site, { echo_output: text });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`/jobs/${id}`);
    await page.getByRole('button', { name: 'Show all 105,000 characters' }).waitFor();
    t.is((await page.locator('.text-block').first().textContent())?.length, 50_000);
    const result = page.locator('.card', { has: heading(page, 'Result') });
    await result.getByRole('button', { name: 'Copy' }).click();
    await result.getByText('Copied').waitFor();
    t.is(await page.evaluate('navigator.clipboard.readText()'), text);
    await page.getByRole('button', { name: 'Show all 105,000 characters' }).click();
    t.is((await page.locator('.text-block').first().textContent())?.length, text.length);
  });

  test.serial('a job that does not exist is said so', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    misdeeds.expect(/status of 404/);
    await page.goto('/jobs/01990000-0000-7000-8000-000000000000');
    await page.getByText('There is no job with this id').waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  test.serial(
    'a connection that breaks is told, and what happened meanwhile is shown when it is back',
    async (t) => {
      const relay = await startRelay(stage().site.url);
      t.teardown(() => relay.cut());
      const { page, misdeeds } = await stage().open(t, { origin: relay.url });
      misdeeds.expect(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|WebSocket/);
      const { client } = stage().site;
      const { id } = await client.dispatch({ prompt: 'Wait here', provider: 'nobody' });
      await page.goto('/jobs?q=Wait+here');
      const row = page.locator('.job-row', { hasText: 'Wait here' });
      await row.getByText('Pending').waitFor();
      await relay.cut();
      await page.getByText('The connection to the coordinator is lost').waitFor();
      t.deepEqual(await faultsOf(page), []);
      await client.cancel(id);
      t.is(await row.getByText('Cancelled').count(), 0);
      await relay.mend();
      const isBack = page
        .getByText('The connection to the coordinator is lost')
        .waitFor({ state: 'detached' });
      // The page also tries again by itself, and the button goes with the banner.
      await Promise.race([page.getByRole('button', { name: 'Try now' }).click(), isBack]);
      await row.getByText('Cancelled').waitFor();
      await isBack;
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial(
    'behind a proxy that gives it a path of its own it works as well, deep links too',
    async (t) => {
      const url = await startPrefixProxy(t, stage().site.url, '/tools/svc');
      const { page, misdeeds } = await stage().open(t, { key: null, origin: new URL(url).origin });
      const id = await ended(stage().site, {});
      await page.goto(`${url}/jobs/${id}#key=${siteKey}`);
      await heading(page, 'Result').waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('link', { name: /^Jobs/ }).click();
      await page.waitForURL(`${url}/jobs`);
      await page.locator('tbody .job-row .title-cell a').first().click();
      await page.waitForURL(/\/tools\/svc\/jobs\/[0-9a-f-]+$/);
      await page.reload();
      await heading(page, 'Details').waitFor();
      t.deepEqual(misdeeds.found, []);
    },
  );

  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 360],
  ] as const) {
    test.serial(`job and overview keep nobody out: ${theme}, ${width} px`, async (t) => {
      const { page, misdeeds } = await stage().open(t, { theme, width });
      await showStates(page);
      const failed = await ended(stage().site, { echo_fail: 'invalid_request' });
      const { id: waiting } = await stage().site.client.dispatch({ prompt: 'Wait', provider: 'nobody' });
      for (const path of [`/jobs/${failed}`, `/jobs/${waiting}`]) {
        await page.goto(path);
        await heading(page, 'Details').waitFor();
        await page.locator('.state.is-current').waitFor();
        t.deepEqual(await faultsOf(page), [], path);
        t.is(await overflowOf(page), 0, path);
      }
      await page.goto('/');
      await page.getByText('Wait, median').waitFor();
      await page.getByText('and no worker serves it').waitFor();
      await heading(page, 'Worker slots').waitFor();
      t.deepEqual(await faultsOf(page), []);
      t.is(await overflowOf(page), 0);
      t.deepEqual(misdeeds.found, []);
    });
  }

  test.serial('the charts show the depth of the queue, over an hour, a day or a week', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    const at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const none = { count: 0, p50_ms: null, p95_ms: null };
    const steps = { hour: 10, day: 60, week: 600 };
    const asked: string[] = [];
    // A coordinator that has run for a week; what it keeps itself is tested with its API.
    await page.route('**/api/stats/history*', async (route) => {
      const range = new URL(route.request().url()).searchParams.get('range') as keyof typeof steps;
      asked.push(range);
      const throughput = { created: 30, started: 0, requeued: 0, completed: 0, failed: 0, cancelled: 0 };
      const points = Array.from({ length: 50 }, (_, n) => ({
        at: at(((50 - n) * steps[range]) / 60),
        throughput,
        pending: steps[range] + n,
        running: 3,
        wait: none,
        run: none,
        tokens_per_second: { input: 0, output: 0 },
      }));
      await route.fulfill({ json: { step_seconds: steps[range], points } });
    });
    await page.goto('/');
    // Until those of a newly chosen range have come, the points of the one before are shown.
    const depth = (range: string, shown: RegExp) =>
      page.getByRole('region', { name: range }).getByRole('img', { name: shown }).waitFor();
    await depth('The last hour', /queue: Pending 59, at most 59; Running 3/);
    await page.getByRole('button', { name: '24 h' }).click();
    await page.waitForURL(/\?range=day$/);
    await depth('The last 24 hours', /queue: Pending 109/);
    await page.getByRole('button', { name: '7 d' }).click();
    await page.waitForURL(/\?range=week$/);
    await depth('The last 7 days', /queue: Pending 649/);
    const rate = page.getByRole('img', { name: /^Jobs a minute/ });
    t.regex((await rate.getAttribute('aria-label')) ?? '', /Created 3,/);
    await page.reload();
    await depth('The last 7 days', /queue: Pending 649/);
    t.deepEqual([...new Set(asked)], ['hour', 'day', 'week']);
    t.deepEqual(await faultsOf(page), []);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('the overview counts what happens, as the API does', async (t) => {
    const { page } = await stage().open(t);
    const { client } = stage().site;
    await page.goto('/');
    const tile = (label: string) => page.locator('.tile', { hasText: label }).locator('.tile-value');
    const pending = (await client.stats()).jobs.by_status.pending;
    await tile('Pending').getByText(String(pending), { exact: true }).waitFor();
    await client.dispatch({ prompt: 'One more', provider: 'nobody' });
    await tile('Pending')
      .getByText(String(pending + 1), { exact: true })
      .waitFor();
    const running = await Promise.all(
      [1, 2].map(() =>
        client.dispatch({ prompt: 'Run', provider: 'echo', params: { echo_delay_ms: 60_000 } }),
      ),
    );
    await tile('Running').getByText('2', { exact: true }).waitFor();
    t.is(await page.locator('.cell.lit').count(), 2);
    t.is(await page.locator('.cell').count(), 3);
    await client.cancelMany({ ids: running.map(({ id }) => id) });
    await tile('Running').getByText('0', { exact: true }).waitFor();
    await tile('Pending').click();
    await page.waitForURL(/\/jobs\?status=pending$/);
  });
});
