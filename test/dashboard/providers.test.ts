import test from 'ava';
import { faultsOf, pageTests } from './support/browser.ts';
import { dispatchMany, type Site } from './support/site.ts';
import { connectWorker } from './support/workers.ts';

async function prepare(site: Site): Promise<void> {
  await connectWorker(site, { name: 'box', providers: ['calm', 'limited', 'broken'], concurrency: 4 });
  await dispatchMany(site, [
    { prompt: 'x', provider: 'calm', params: { echo_delay_ms: 600_000 } },
    { prompt: 'x', provider: 'nobody' },
  ]);
}

pageTests({ prepare }, (stage) => {
  test.serial(
    'a provider that answers 429 is shown limited with a countdown, and a reset ends it',
    async (t) => {
      const { site } = stage();
      const { page, misdeeds } = await stage().open(t);
      await page.goto('/providers');
      const card = page.locator('.card', { has: page.getByRole('heading', { name: 'limited' }) });
      const fail = { class: 'rate_limited', retry_after_seconds: 3000 };
      await dispatchMany(site, [{ prompt: 'x', provider: 'limited', params: { echo_fail: fail } }]);
      await card.getByText('Limited', { exact: true }).waitFor();
      t.regex((await card.locator('.held time').textContent()) ?? '', /^[45]:\d\d$/);
      await dispatchMany(site, [{ prompt: 'waits', provider: 'limited' }]);
      await card
        .locator('div', { hasText: 'Waiting for it' })
        .getByRole('link', { name: /^[12]$/ })
        .waitFor();
      await card.getByRole('button', { name: 'Reset' }).click();
      await card.getByText('Available').waitFor();
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial('a provider whose attempts fail is shown stopped, with how many failed', async (t) => {
    const { site } = stage();
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/providers');
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'broken' }) });
    const failing = { prompt: 'x', provider: 'broken', params: { echo_fail: 'server_error' } };
    await dispatchMany(
      site,
      Array.from({ length: 30 }, () => failing),
    );
    await card.getByText('Stopped', { exact: true }).waitFor();
    await card.getByText(/attempts failed within 1 min/).waitFor();
    await card.getByText(/What stopped it: .*\(server_error\)/).waitFor();
    await card.getByText('Limits, breaker and models').click();
    await card.getByText(/stops at \d+ % of/).waitFor();
    t.deepEqual(await faultsOf(page), []);
    await card.getByRole('button', { name: 'Reset' }).click();
    await page.getByText('broken is available').waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('what runs and what waits leads to its jobs', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/providers');
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'calm' }) });
    await card.getByRole('link', { name: '1' }).click();
    await page.waitForURL(/\/jobs\?status=running&provider=calm$/);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a viewer sees providers and no reset', async (t) => {
    const { site } = stage();
    const fail = { class: 'rate_limited', retry_after_seconds: 3000 };
    await dispatchMany(site, [{ prompt: 'x', provider: 'limited', params: { echo_fail: fail } }]);
    const { key } = await site.client.createKey({ role: 'viewer' });
    const { page, misdeeds } = await stage().open(t, { key });
    await page.goto('/providers');
    await page.getByText('Limited', { exact: true }).waitFor();
    t.is(await page.locator('main button').count(), 0);
    t.deepEqual(misdeeds.found, []);
  });

  for (const look of [{ theme: 'light' }, { theme: 'dark', width: 360 }] as const) {
    test.serial(`the page of providers keeps nobody out: ${JSON.stringify(look)}`, async (t) => {
      const { page } = await stage().open(t, look);
      await page.goto('/providers');
      await page.getByRole('heading', { name: 'calm' }).waitFor();
      t.deepEqual(await faultsOf(page), []);
      t.true(
        await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
      );
    });
  }
});
