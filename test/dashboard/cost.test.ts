import { text } from 'node:stream/consumers';
import test from 'ava';
import { faultsOf, pageTests } from './support/browser.ts';
import { dispatchMany, type Site } from './support/site.ts';

/** One job of a known price and one of none. */
async function prepare(site: Site): Promise<void> {
  const known = { prompt: 'x', provider: 'echo', model: 'echo-small', tags: ['nightly'], tier: 'batch' };
  const ids = await dispatchMany(site, [
    { ...known, params: { echo_tokens: { input: 1_000_000, output: 500_000 } } },
  ]);
  for (const id of ids) await site.client.waitFor(id);
}

pageTests({ slots: 2, prepare }, (stage) => {
  test.serial(
    'today has its sum, its course as a table, and on what it went; it follows what ends',
    async (t) => {
      const { site } = stage();
      const { page, misdeeds } = await stage().open(t);
      await page.goto('/cost?tz=UTC');
      await page.locator('.cost-total', { hasText: '$1.50' }).waitFor();
      await page.getByText('The same as a table').click();
      await page.getByRole('table', { name: 'Cost by hour' }).getByText('$1.50').waitFor();
      const table = page.getByRole('table', { name: 'Cost by provider' });
      await table.getByRole('row').filter({ hasText: 'echo' }).getByText('100 %').waitFor();
      const by = page.getByRole('navigation', { name: 'Broken down by' });
      for (const [name, line] of [
        ['model', 'echo-small'],
        ['tag', 'nightly'],
        ['worker', 'echo'],
        ['tier', 'batch'],
      ] as const) {
        await by.getByRole('link', { name }).click();
        await page.waitForURL(new RegExp(`by=${name}`));
        await page
          .getByRole('table', { name: `Cost by ${name}` })
          .getByText(line)
          .waitFor();
      }
      t.regex(page.url(), /tz=UTC/);
      await dispatchMany(site, [
        {
          prompt: 'x',
          provider: 'echo',
          model: 'echo-small',
          params: { echo_tokens: { input: 1_000_000, output: 0 } },
        },
      ]);
      await page.locator('.cost-total', { hasText: '$2.00' }).waitFor();
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial(
    'days are chosen in the address, Back leads back, and a time without jobs says so',
    async (t) => {
      const { page, misdeeds } = await stage().open(t);
      await page.goto('/cost?period=week&tz=UTC');
      await page.getByRole('link', { name: 'Days', exact: true }).click();
      await page.waitForURL(/from=\d{4}-\d\d-\d\d&to=/);
      await page.locator('.cost-total', { hasText: '$2.00' }).waitFor();
      await page.getByLabel('From').fill('2020-01-01');
      await page.waitForURL(/from=2020-01-01/);
      await page.getByText(/at most 366 days/).waitFor();
      await page.getByLabel('to', { exact: true }).fill('2020-01-31');
      await page.getByText('Nothing ended in this time').waitFor();
      await page.locator('.cost-total', { hasText: '$0' }).waitFor();
      await page.goBack();
      await page.goBack();
      await page.locator('.cost-total', { hasText: '$2.00' }).waitFor();
      misdeeds.expect(/status of 400/);
      t.deepEqual(
        misdeeds.found.filter((text) => !text.includes('status of 400')),
        [],
      );
    },
  );

  test.serial('a time zone that is none is refused in words', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    misdeeds.expect(/status of 400/);
    await page.goto('/cost?tz=Mars/One');
    await page.getByText(/must be a time zone/).waitFor();
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    // What a live event draws again leaves the unfinished text alone.
    const [id = ''] = await dispatchMany(stage().site, [
      { prompt: 'x', provider: 'echo', params: { echo_delay_ms: 60_000 } },
    ]);
    await page.locator('.nav-count').waitFor();
    t.is(await page.getByLabel('Time zone').inputValue(), 'Europe/Berlin');
    await stage().site.client.cancel(id);
    await page.getByLabel('Time zone').press('Tab');
    await page.locator('.cost-total').waitFor();
    t.regex(page.url(), /tz=Europe%2FBerlin/);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a breakdown is downloaded as CSV', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/cost?tz=UTC&by=tag');
    await page.getByRole('table', { name: 'Cost by tag' }).waitFor();
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const download = await coming;
    t.is(download.suggestedFilename(), 'cost-by-tag.csv');
    const csv = await text(await download.createReadStream());
    t.regex(csv, /^tag,detail,cost_usd,/);
    t.regex(csv, /\r\nnightly,,1.5,0,1,1,1000000,500000\r\n/);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('what nobody knows is unknown, and never 0', async (t) => {
    const { site } = stage();
    const ids = await dispatchMany(site, [
      {
        prompt: 'x',
        provider: 'echo',
        model: 'echo-large',
        tags: ['dear'],
        params: { echo_fail: 'timeout' },
      },
    ]);
    for (const id of ids) await site.client.cancel(id).catch(() => {});
    const { page } = await stage().open(t);
    await page.goto('/cost?tz=UTC&by=tag');
    await page.getByRole('table', { name: 'Cost by tag' }).waitFor();
    const { tags } = await site.client.costBreakdown({ by: 'tag' });
    for (const line of tags ?? []) {
      const row = page.getByRole('row').filter({ hasText: line.tag ?? 'without a tag' });
      const text = (await row.textContent()) ?? '';
      if (line.unknown_cost_attempts > 0) t.regex(text, /unknown|or more/);
      else t.notRegex(text, /unknown|or more/);
    }
    t.true((tags ?? []).length > 0);
  });

  for (const look of [{ theme: 'light' }, { theme: 'dark', width: 360 }] as const) {
    test.serial(`the page of cost keeps nobody out: ${JSON.stringify(look)}`, async (t) => {
      const { page } = await stage().open(t, look);
      await page.goto('/cost?from=2026-11-01&to=2026-11-21');
      await page.locator('.cost-total').waitFor();
      t.deepEqual(await faultsOf(page), []);
      await page.goto('/cost');
      await page.locator('.share').first().waitFor();
      t.deepEqual(await faultsOf(page), []);
      t.true(
        await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
      );
    });
  }
});
