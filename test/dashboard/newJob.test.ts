import test from 'ava';
import { faultsOf, pageTests } from './support/browser.ts';
import { dispatchMany } from './support/site.ts';
import { connectWorker } from './support/workers.ts';

pageTests({ slots: 2 }, (stage) => {
  test.serial('a job is written, previewed, sent and run', async (t) => {
    const { site } = stage();
    await connectWorker(site, { name: 'lab-1', providers: ['lab'] });
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/jobs');
    await page.getByRole('link', { name: 'New job' }).click();
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Say hello');
    await page.locator('datalist option[value=lab]').waitFor({ state: 'attached' });
    await page.getByRole('combobox', { name: 'Provider' }).fill('echo');
    await page.getByRole('textbox', { name: 'Tags' }).fill('form, first');
    await page.getByRole('textbox', { name: 'Parameters' }).fill('{"echo_output": "Hello there"}');
    await page.getByRole('button', { name: 'Preview routing' }).click();
    const preview = page.locator('.card', { has: page.getByRole('heading', { name: 'It would go' }) });
    await preview.getByText('chosen').waitFor();
    t.is((await site.client.jobs()).total, 0, 'a preview makes no job');
    await page.getByRole('button', { name: 'Send the job' }).click();
    await page.waitForURL(/\/jobs\/[0-9a-f-]{36}$/);
    await page.getByText('Hello there', { exact: true }).waitFor();
    const { jobs } = await site.client.jobs();
    t.like(jobs[0], { prompt: 'Say hello', provider: 'echo', tags: ['form', 'first'] });
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('what is refused is said at its field, which has the focus; nothing is lost', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    misdeeds.expect(/status of 400/);
    await page.goto('/jobs/new');
    await page.getByRole('textbox', { name: 'Parameters' }).fill('{oops');
    await page.getByRole('button', { name: 'Send the job' }).click();
    await page.getByText('Parameters is not JSON').waitFor();
    await page.waitForFunction('document.activeElement?.getAttribute("name") === "params"');
    await page.getByRole('textbox', { name: 'Parameters' }).fill('');
    await page.getByRole('combobox', { name: 'Provider' }).fill('echo');
    await page.getByRole('combobox', { name: 'Priority' }).fill('yesterday');
    await page.getByRole('button', { name: 'Send the job' }).click();
    await page.getByText(/Priority .*(must be|one of)/).waitFor();
    await page.getByText(/Prompt must not be empty/).waitFor();
    t.is(await page.getByRole('combobox', { name: 'Provider' }).inputValue(), 'echo');
    t.deepEqual(await faultsOf(page), []);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial(
    'a job is duplicated and changed; the same sent twice after a broken answer is one',
    async (t) => {
      const { site } = stage();
      const messages = [{ role: 'user', content: 'Hi' }];
      const [id = ''] = await dispatchMany(site, [{ messages, provider: 'echo', tier: 'batch' }]);
      await site.client.waitFor(id);
      const { page, misdeeds } = await stage().open(t);
      misdeeds.expect(/Failed to load resource/);
      await page.goto(`/jobs/${id}`);
      await page.getByRole('link', { name: 'Duplicate' }).click();
      await page.waitForURL(new RegExp(`/jobs/new\\?from=${id}$`));
      t.is(await page.getByRole('textbox', { name: 'Tier' }).inputValue(), 'batch');
      await page.getByRole('textbox', { name: 'Messages' }).fill('[{"role": "user", "content": "Once"}]');
      const before = (await site.client.jobs()).total;
      let isFirst = true;
      await page.route('**/api/jobs', async (route) => {
        if (route.request().method() !== 'POST' || !isFirst) return route.continue();
        isFirst = false;
        await route.fetch();
        return route.abort();
      });
      await page.getByRole('button', { name: 'Send the job' }).click();
      await page.getByText('The coordinator does not answer').waitFor();
      await page.getByRole('button', { name: 'Send the job' }).click();
      await page.waitForURL(/\/jobs\/[0-9a-f-]{36}$/);
      t.is((await site.client.jobs()).total, before + 1);
      t.like((await site.client.jobs()).jobs[0], {
        messages: [{ role: 'user', content: 'Once' }],
        tier: 'batch',
      });
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial('a viewer is told that the key sends no jobs', async (t) => {
    const { key } = await stage().site.client.createKey({ role: 'viewer' });
    const { page } = await stage().open(t, { key });
    await page.goto('/jobs/new');
    await page.getByText('Your key can read, but not create jobs').waitFor();
    t.is(await page.locator('main :is(input, textarea, button)').count(), 0);
  });

  for (const look of [{ theme: 'light' }, { theme: 'dark', width: 360 }] as const) {
    test.serial(`the form keeps nobody out: ${JSON.stringify(look)}`, async (t) => {
      const { page } = await stage().open(t, look);
      await page.goto('/jobs/new');
      await page.getByRole('textbox', { name: 'Prompt' }).waitFor();
      t.deepEqual(await faultsOf(page), []);
      t.true(
        await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
      );
    });
  }
});
