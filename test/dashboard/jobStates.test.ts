import test from 'ava';
import type { Page } from 'playwright-core';
import { pageTests, showStates } from './support/browser.ts';
import { dispatchMany } from './support/site.ts';

/** The name of the state that is lit. */
async function lit(page: Page, name: string): Promise<void> {
  await page.locator('.state.is-current', { hasText: name }).waitFor();
}

/** What the picture says of a state, for those who listen. */
function spoken(page: Page, path: string): Promise<string | null> {
  return page.locator(`.statechart-picture [data-state="${path}"]`).getAttribute('aria-label');
}

pageTests({ slots: 1 }, (stage) => {
  test.serial('the state of a job moves in its picture while it happens, with the way it came', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await showStates(page);
    const { site } = stage();
    const [id = ''] = await dispatchMany(site, [
      { prompt: 'x', provider: 'echo', params: { echo_delay_ms: 60_000 } },
    ]);
    await page.goto(`/jobs/${id}`);
    await lit(page, 'active');
    t.true((await page.locator('.state.is-around').count()) > 0, 'the state around it is outlined');
    t.regex((await spoken(page, 'pending.ready')) ?? '', /been here 1 time/);
    await site.client.cancel(id);
    await lit(page, 'cancelled');
    const way = page.locator('.arrow.is-taken .arrow-text.is-taken');
    t.deepEqual(await way.allTextContents(), ['job.cancelled']);
    const { state, entries } = await site.client.jobHistory(id);
    t.is(state, 'cancelled');
    t.is(await page.locator('.scrubber-entry').count(), entries.length);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial(
    'a job that was retried has been twice where it was twice, and earlier moments know less',
    async (t) => {
      const { page } = await stage().open(t);
      await showStates(page);
      const { site } = stage();
      const [id = ''] = await dispatchMany(site, [
        { prompt: 'x', provider: 'echo', params: { echo_fail: 'invalid_request' } },
      ]);
      await site.client.waitFor(id);
      await site.client.retry(id);
      await site.client.waitFor(id);
      await page.goto(`/jobs/${id}`);
      await lit(page, 'failed');
      t.regex((await spoken(page, 'running.active')) ?? '', /been here 2 times/);
      t.regex((await spoken(page, 'failed')) ?? '', /been here 2 times/);
      await page.getByRole('button', { name: /^failed.*attempt 1/ }).click();
      await page.waitForURL(/e=3$/);
      t.regex((await spoken(page, 'running.active')) ?? '', /been here 1 time/);
      await page.getByText('The same as text').click();
      t.regex(
        (await page.locator('.statechart-text li[aria-current="step"]').textContent()) ?? '',
        /^failed/,
      );
    },
  );
});
