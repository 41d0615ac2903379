import test from 'ava';
import { faultsOf, pageTests } from './support/browser.ts';
import { dispatchMany, type Site } from './support/site.ts';
import { connectWorker } from './support/workers.ts';

const slow = { prompt: 'A long story', provider: 'lab', params: { echo_delay_ms: 600_000 } };

async function prepare(site: Site): Promise<void> {
  await connectWorker(site, { name: 'lab-1', providers: ['lab'], concurrency: 3, tags: ['eu'] });
  await dispatchMany(site, [slow, slow]);
}

pageTests({ slots: 2, prepare }, (stage) => {
  test.serial('the list tells of every worker, and follows what becomes of them', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/workers');
    const row = page.getByRole('row').filter({ hasText: 'lab-1' });
    await row.getByText('2 of 3').waitFor();
    t.is(await row.locator('.cell.lit').count(), 2);
    await row.getByText('eu', { exact: true }).waitFor();
    await dispatchMany(stage().site, [slow]);
    await row.getByText('3 of 3').waitFor();
    const other = await connectWorker(stage().site, { name: 'guest', providers: ['lab'] });
    const guest = page.getByRole('row').filter({ hasText: 'guest' });
    await guest.getByText('Active').waitFor();
    await other.stop();
    await guest.getByText('Disconnected').waitFor();
    await stage().site.client.forgetWorker(other.id);
    await guest.waitFor({ state: 'detached' });
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a status narrows the list, in the address', async (t) => {
    const { page } = await stage().open(t);
    await stage().site.client.pauseWorker((await stage().site.client.workers()).workers[0]?.id ?? '');
    await page.goto('/workers');
    await page.getByRole('navigation', { name: 'Workers by status' }).getByText('Paused').click();
    await page.waitForURL(/status=paused/);
    await page.waitForFunction('document.querySelectorAll("tbody tr").length === 1');
    for (const { id } of (await stage().site.client.workers()).workers)
      await stage().site.client.resumeWorker(id);
    await page.getByText('No worker has this status now').waitFor();
    await page.goBack();
    t.regex(page.url(), /\/workers$/);
  });

  test.serial('an operator pauses, resumes and resizes a worker from its page', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    misdeeds.expect(/status of 400/);
    await page.goto('/workers');
    await page.getByRole('link', { name: 'lab-1' }).click();
    await page.getByRole('heading', { name: 'lab-1' }).waitFor();
    const lit = (state: string) => page.locator(`.statechart-picture .is-current[data-state="${state}"]`);
    await lit('active.responsive').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.page-title').getByText('Paused').waitFor();
    await lit('paused.responsive').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.page-title').getByText('Active').waitFor();
    await page.getByRole('button', { name: 'Concurrency' }).click();
    const field = page.getByRole('textbox', { name: 'Jobs at a time' });
    await field.fill('lots');
    await field.press('Enter');
    await page.getByText('A whole number from 0 to 10,000').waitFor();
    await field.fill('5');
    await field.press('Enter');
    await page.getByText('3 of 5').waitFor();
    const { workers } = await stage().site.client.workers();
    t.is(workers.find(({ name }) => name === 'lab-1')?.concurrency, 5);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('the page of a worker lists what it runs, and follows it', async (t) => {
    const { site } = stage();
    const { page, misdeeds } = await stage().open(t);
    const { workers } = await site.client.workers();
    const lab = workers.find(({ name }) => name === 'lab-1');
    await page.goto(`/workers/${lab?.id}`);
    const list = page.getByRole('list', { name: /running job/ });
    await list.getByRole('listitem').nth(2).waitFor();
    const [added = ''] = await dispatchMany(site, [{ ...slow, prompt: 'One more' }]);
    await list.getByText('One more').waitFor();
    await site.client.cancel(added);
    await list.getByText('One more').waitFor({ state: 'detached' });
    await list.getByRole('link').first().click();
    await page.waitForURL(/\/jobs\/[0-9a-f-]+$/);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial(
    'a worker that is gone is forgotten after a question; there is no page of it any more',
    async (t) => {
      const { site } = stage();
      const gone = await connectWorker(site, { name: 'old-box', providers: ['lab'] });
      await gone.stop();
      const { page, misdeeds } = await stage().open(t);
      await page.goto(`/workers/${gone.id}`);
      await page.getByRole('button', { name: 'Forget' }).click();
      await page.getByRole('dialog').getByText('Its jobs and their cost remain').waitFor();
      await page.getByRole('button', { name: 'Forget the worker' }).click();
      await page.waitForURL(/\/workers$/);
      await t.throwsAsync(site.client.worker(gone.id), { message: /no worker/ });
      await page.goto(`/workers/${gone.id}`);
      await page.getByText('There is no worker with this id').waitFor();
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial('a viewer sees workers and no way to change them', async (t) => {
    const { key } = await stage().site.client.createKey({ role: 'viewer' });
    const { page, misdeeds } = await stage().open(t, { key });
    await page.goto('/workers');
    await page.getByRole('link', { name: 'lab-1' }).waitFor();
    t.is(await page.locator('main button').count(), 0);
    await page.getByRole('link', { name: 'lab-1' }).click();
    await page.getByText('Running now').waitFor();
    t.is(await page.getByRole('button', { name: /Pause|Resume|Concurrency|Forget/ }).count(), 0);
    t.deepEqual(misdeeds.found, []);
  });

  for (const look of [{ theme: 'light' }, { theme: 'dark' }, { width: 360 }] as const) {
    test.serial(`the pages of workers keep nobody out: ${JSON.stringify(look)}`, async (t) => {
      const { page } = await stage().open(t, look);
      await page.goto('/workers');
      await page.getByRole('link', { name: 'lab-1' }).waitFor();
      t.deepEqual(await faultsOf(page), []);
      t.true(
        await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
      );
      await page.getByRole('link', { name: 'lab-1' }).click();
      await page.getByRole('list', { name: /running job/ }).waitFor();
      t.deepEqual(await faultsOf(page), []);
      t.true(
        await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
      );
    });
  }
});
