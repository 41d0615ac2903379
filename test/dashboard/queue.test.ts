import test from 'ava';
import { faultsOf, overflowOf, pageTests } from './support/browser.ts';

pageTests({}, (stage) => {
  test.serial(
    'an operator pauses the queue with a reason, every page says so, and one resumes it',
    async (t) => {
      const { client } = stage().site;
      const { page, misdeeds } = await stage().open(t);
      await page.goto('/');
      await page.getByRole('button', { name: 'Pause the queue' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('new prices');
      t.deepEqual(await faultsOf(page), []);
      await dialog.getByRole('button', { name: 'Pause' }).click();
      const banner = page.locator('.banner', { hasText: 'The queue is paused' });
      await banner.getByText(/: new prices/).waitFor();
      t.like((await client.stats()).queue, { paused: true, reason: 'new prices' });
      await page
        .locator('.attention')
        .getByText(/^The queue is paused.*: new prices$/)
        .waitFor();
      await page.getByRole('button', { name: 'Resume the queue' }).waitFor();
      t.deepEqual(await faultsOf(page), []);

      await page.goto('/jobs');
      await banner.waitFor();
      t.is(await overflowOf(page), 0);
      await banner.getByRole('button', { name: 'Resume' }).click();
      await banner.waitFor({ state: 'detached' });
      t.false((await client.stats()).queue.paused);
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial('who may only look sees who paused the queue, and no switch', async (t) => {
    const { client } = stage().site;
    const { key } = await client.createKey({ role: 'viewer' });
    const { page, misdeeds } = await stage().open(t, { key });
    await page.goto('/');
    await page.getByText('Pending').first().waitFor();
    await client.pauseQueue();
    await page.locator('.banner', { hasText: 'The queue is paused' }).waitFor();
    t.is(await page.getByRole('button', { name: /Pause|Resume/ }).count(), 0);
    await client.resumeQueue();
    await page.locator('.banner').waitFor({ state: 'detached' });
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('the palette pauses and resumes the queue', async (t) => {
    const { client } = stage().site;
    const { page, misdeeds } = await stage().open(t);
    for (const [words, isPaused] of [
      ['pause queue', true],
      ['resume queue', false],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.locator('.palette-input:focus').waitFor();
      await page.keyboard.type(words);
      await page.getByRole('option', { name: isPaused ? /Pause the queue/ : /Resume the queue/ }).click();
      if (isPaused) {
        const dialog = page.getByRole('dialog', { name: 'Pause the queue?' });
        await dialog.waitFor();
        t.false((await client.stats()).queue.paused, 'not before the answer');
        await dialog.getByRole('button', { name: 'Pause' }).click();
      }
      await page.getByText(isPaused ? /The queue is paused: running/ : /The queue is resumed/).waitFor();
      t.is((await client.stats()).queue.paused, isPaused);
    }
    t.deepEqual(misdeeds.found, []);
  });
});
