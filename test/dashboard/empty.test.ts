import test from 'ava';
import { faultsOf, overflowOf, pageTests } from './support/browser.ts';
import { dispatchMany } from './support/site.ts';

pageTests({}, (stage) => {
  for (const role of ['viewer', 'client'] as const) {
    test.serial(`a coordinator without jobs and workers tells a ${role} what it may do`, async (t) => {
      const { key } = await stage().site.client.createKey({ role });
      const { page, misdeeds } = await stage().open(t, { key, width: 380 });
      for (const path of ['/', '/jobs', '/runs', '/workers', '/providers', '/cost', '/machines']) {
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('.skeleton').first().waitFor({ state: 'detached' });
        t.deepEqual(await faultsOf(page), [], path);
        t.is(await overflowOf(page), 0, path);
      }
      await page.goto('/jobs');
      const text = role === 'viewer' ? 'your key cannot create any' : 'or with New job above';
      await page.getByText(text).waitFor();
      t.is(await page.getByRole('link', { name: 'New job' }).count(), role === 'viewer' ? 0 : 1);
      t.deepEqual(misdeeds.found, []);
    });
  }

  test.serial(
    'an empty list shows the first job as soon as it comes, without a button to press',
    async (t) => {
      const { page } = await stage().open(t);
      await page.goto('/jobs?tag=first');
      await page.getByText('No job fits these filters').waitFor();
      await dispatchMany(stage().site, [{ prompt: 'The first of all', provider: 'nobody', tags: ['first'] }]);
      await page.getByText('The first of all').waitFor();
      t.is(await page.getByRole('button', { name: /new, show them/ }).count(), 0);
    },
  );
});
