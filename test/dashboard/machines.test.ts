import test from 'ava';
import type { Page } from 'playwright-core';
import { faultsOf, pageTests } from './support/browser.ts';
import { dispatchMany, type Site, siteKey } from './support/site.ts';

/** Two run, one fails, the others wait: nobody serves their provider. */
async function prepare(site: Site): Promise<void> {
  const slow = { prompt: 'x', provider: 'echo', params: { echo_delay_ms: 60_000 } };
  const failing = { prompt: 'x', provider: 'echo', params: { echo_fail: 'invalid_request' } };
  const [failed] = await dispatchMany(site, [failing]);
  await site.client.waitFor(failed ?? '');
  await dispatchMany(site, [
    slow,
    slow,
    ...Array.from({ length: 7 }, () => ({ prompt: 'x', provider: 'nobody' })),
  ]);
}

/** A time that the page is open before. */
function soon(): string {
  return new Date(Date.now() + 3_000).toISOString();
}

/** A state in the picture. */
function state(page: Page, path: string) {
  return page.locator(`.statechart-picture [data-state="${path}"]`);
}

pageTests({ slots: 2, inspect: 'page', prepare }, (stage) => {
  test.serial('the machine of jobs shows how many are in each state, and goes on showing it', async (t) => {
    const { page, misdeeds } = await stage().open(t, { key: null });
    await page.goto(`/machines#key=${siteKey}`);
    await state(page, 'running.active').waitFor();
    await state(page, 'running.active').getByText('2').waitFor();
    t.regex((await state(page, 'pending.ready').getAttribute('aria-label')) ?? '', /7 jobs now/);
    t.regex((await state(page, 'failed').getAttribute('aria-label')) ?? '', /1 job now/);
    await dispatchMany(stage().site, [{ prompt: 'x', provider: 'nobody' }]);
    await state(page, 'pending.ready').getByText('8').waitFor();
    await page.locator('.change', { hasText: 'new → pending.ready' }).first().waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  test.serial(
    'a state of the machine of jobs leads to its jobs, by pointer and by key, and Back leads back',
    async (t) => {
      const { page } = await stage().open(t, { key: null });
      await page.goto(`/machines/job#key=${siteKey}`);
      await state(page, 'failed').click();
      await page.waitForURL(/\/jobs\?status=failed$/);
      await page.goBack();
      // With its count it is another element than without.
      await page.locator('[data-state="pending.ready"][aria-label*="jobs now"]').waitFor();
      await state(page, 'pending.ready').focus();
      await page
        .locator('.statechart-description', { hasText: /^pending\.ready Waits for its turn/ })
        .waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/jobs\?state=pending\.ready$/);
      await page.locator('tbody .job-row .title-cell').first().waitFor();
      // Other tests of this file send jobs meanwhile, so how many there are exactly is not known.
      await page.locator('table[aria-rowcount]').waitFor();
      t.true(Number(await page.locator('table').getAttribute('aria-rowcount')) >= 8);
      await page.getByRole('button', { name: /^State: Ready to start/ }).click();
      await page.waitForURL(/\/jobs$/);
    },
  );

  for (const [name, path] of [
    ['job', 'running.stuck'],
    ['worker', 'active.responsive'],
    ['health', 'aside'],
    ['provider', 'available'],
    ['supervisor', 'admission.accepting'],
  ]) {
    test.serial(`the machine ${name} has all of its states, in the picture and as text`, async (t) => {
      const { page, misdeeds } = await stage().open(t, { key: null });
      await page.goto(`/machines/${name}#key=${siteKey}`);
      await state(page, path ?? '').waitFor();
      const { machines } = await stage().site.client.machines();
      const machine = machines.find((one) => one.name === name);
      t.truthy(machine);
      for (const one of machine?.states ?? []) t.is(await state(page, one.path).count(), 1, one.path);
      await page.getByText('The same as text').click();
      t.is(await page.locator('.statechart-text li').count(), machine?.states.length ?? 0);
      const transitions = [
        ...(machine?.transitions ?? []),
        ...(machine?.states ?? []).flatMap((one) => one.transitions),
      ];
      t.true((await page.locator('.statechart-text tbody tr').count()) >= transitions.length);
      t.deepEqual(await faultsOf(page), []);
      t.deepEqual(misdeeds.found, []);
    });
  }

  test.serial('the state that the coordinator is in is lit, and so it is in the text', async (t) => {
    const { page } = await stage().open(t, { key: null });
    await page.goto(`/machines/supervisor#key=${siteKey}`);
    await page.locator('.state.is-current').first().waitFor();
    const lit = await page.locator('.state.is-current .state-name').allTextContents();
    // One for each region; the others change within a moment.
    t.is(lit.length, 3);
    t.is(lit[0], 'accepting');
    await page.getByText('The same as text').click();
    const now = await page.locator('li[aria-current="step"]').allTextContents();
    t.regex(now[0] ?? '', /^accepting \(now\)/);
  });

  test.serial('on a narrow screen the picture is moved sideways and the page is not', async (t) => {
    const { page } = await stage().open(t, { key: null, width: 360, height: 740, theme: 'dark' });
    await page.goto(`/machines/job#key=${siteKey}`);
    await state(page, 'pending').waitFor();
    const over = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    t.is(await page.evaluate(over), 0);
    const box = await state(page, 'pending').boundingBox();
    t.true(
      box !== null && box.x >= 0 && box.x + box.width <= 360,
      'the state in which a job begins is in view',
    );
    t.deepEqual(await faultsOf(page), []);
  });

  test.serial('an admin sees what an actor did, event by event, and what it knew after each', async (t) => {
    const { page, misdeeds } = await stage().open(t, { key: null });
    await page.goto(`/machines/job#key=${siteKey}`);
    const [failed] = (await stage().site.client.jobs({ status: 'failed' })).jobs;
    const id = failed?.id ?? '';
    await page.locator('.inspect-actor', { hasText: id.slice(-4) }).click();
    await page.waitForURL(({ searchParams }) => searchParams.get('actor') === `job ${id}`);
    const events = page.locator('.inspect-event summary strong');
    t.deepEqual(await events.allTextContents(), ['job.attemptFailed', 'job.assigned', 'xstate.init']);
    await events.first().click();
    const shown = await page.locator('.inspect-event[open] pre').allTextContents();
    t.like(JSON.parse(shown[0] ?? ''), { type: 'job.attemptFailed', error: { class: 'invalid_request' } });
    t.like(JSON.parse(shown[1] ?? ''), { value: 'failed', context: { lease: 1 } });
    t.deepEqual(await faultsOf(page), []);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('what an actor does appears while the page is open', async (t) => {
    const { page } = await stage().open(t, { key: null });
    await page.goto(`/machines/job#key=${siteKey}`);
    await page.locator('.inspect-actor').first().waitFor();
    const [id = ''] = await dispatchMany(stage().site, [
      { prompt: 'x', provider: 'echo', not_before: soon() },
    ]);
    await page.locator('.inspect-actor', { hasText: id.slice(-4) }).click();
    const due = page.locator('.inspect-event summary strong', { hasText: 'job.due' });
    await due.waitFor({ timeout: 20_000 });
    t.is(await due.count(), 1);
  });

  test.serial('who is no admin is shown nothing of it', async (t) => {
    const { key } = await stage().site.client.createKey({ role: 'viewer' });
    const { page, misdeeds } = await stage().open(t, { key: null });
    await page.goto(`/machines/job#key=${key}`);
    await state(page, 'pending.ready').waitFor();
    t.is(await page.locator('.inspect').count(), 0);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a machine that does not exist is said so', async (t) => {
    const { page } = await stage().open(t, { key: null });
    await page.goto(`/machines/kettle#key=${siteKey}`);
    await page.getByText('There is no machine kettle.').waitFor();
    t.is(await page.locator('.statechart').count(), 0);
  });
});
