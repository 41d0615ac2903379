import test from 'ava';
import { startReceiver } from '../support/receiver.ts';
import { faultsOf, pageTests } from './support/browser.ts';

pageTests({ slots: 1 }, (stage) => {
  test.serial(
    'a webhook is made, its secret shown once, tested, paused, and its deliveries sent again',
    async (t) => {
      const { site } = stage();
      const receiver = await startReceiver(t);
      const { page, misdeeds } = await stage().open(t);
      await page.getByRole('link', { name: 'Webhooks' }).click();
      await page.getByText('There is no webhook').waitFor();
      await page.getByRole('button', { name: 'Create a webhook' }).click();
      await page.getByRole('textbox', { name: 'Name' }).fill('ops');
      await page.getByRole('textbox', { name: 'URL' }).fill('http://10.0.0.1/');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('alert').getByText('webhooks.allow_private').waitFor();
      await page.getByRole('textbox', { name: 'URL' }).fill(receiver.url);
      await page.getByRole('checkbox', { name: 'All' }).uncheck();
      await page.getByRole('checkbox', { name: 'job.completed' }).check();
      t.deepEqual(await faultsOf(page), []);
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      const secret = (await page.locator('.secret code').textContent()) ?? '';
      t.regex(secret, /^whsec_/);
      await page.getByRole('button', { name: 'I have kept it' }).click();
      const row = page.getByRole('row').filter({ hasText: 'ops' });
      await row.getByText('enabled').waitFor();
      t.false((await page.content()).includes(secret), 'shown once');
      t.deepEqual(await faultsOf(page), []);

      await row.getByRole('button', { name: 'Test' }).click();
      await page.getByText(/It arrived: 200/).waitFor();
      const { id } = await site.client.dispatch({ prompt: 'Hi', provider: 'echo' });
      await receiver.messages(2);
      await row.getByRole('link', { name: 'ops' }).click();
      const delivery = page.getByRole('row').filter({ hasText: id });
      await delivery.getByText('job.completed').waitFor();
      t.deepEqual(await faultsOf(page), []);
      await delivery.getByRole('button', { name: /Send/ }).click();
      await receiver.messages(3);

      await page.getByRole('link', { name: 'Webhooks' }).click();
      await row.getByRole('button', { name: 'Pause' }).click();
      await row.getByText('paused').waitFor();
      await row.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete the webhook' }).click();
      await page.getByText('There is no webhook').waitFor();
      // The refused creation is an answer of 400, which browsers log.
      t.deepEqual(
        misdeeds.found.filter((text) => !/400/.test(text)),
        [],
      );
    },
  );

  test.serial('nobody but an admin comes to the webhooks', async (t) => {
    const { key } = await stage().site.client.createKey({ role: 'operator' });
    const { page } = await stage().open(t, { key });
    t.is(await page.getByRole('link', { name: 'Webhooks' }).count(), 0);
    await page.goto('/webhooks');
    await page.getByText('your key may not see it').waitFor();
  });
});
