import test from 'ava';
import { createClient } from '../../src/client/client.ts';
import { faultsOf, pageTests } from './support/browser.ts';

pageTests({}, (stage) => {
  test.serial('an admin sees who did what, by action and by key', async (t) => {
    const { site } = stage();
    const { id, key } = await site.client.createKey({ role: 'client', name: 'nightly' });
    await t.throwsAsync(createClient({ baseUrl: site.url, apiKey: key }).keys());
    const { page, misdeeds } = await stage().open(t);
    await page.getByRole('link', { name: 'Audit' }).click();
    const rows = page.getByRole('table', { name: 'Audit log' }).locator('tbody tr');
    await rows.filter({ hasText: 'key.created' }).filter({ hasText: 'key nightly' }).waitFor();
    const refused = rows.filter({ hasText: 'role.refused' });
    await refused.getByText('route GET /api/keys').waitFor();
    await refused.getByText('needs: admin').waitFor();
    t.deepEqual(await faultsOf(page), []);

    await page.getByRole('combobox', { name: 'Action' }).selectOption('key.created');
    await refused.waitFor({ state: 'detached' });
    t.regex(page.url(), /action=key\.created/);
    await page.getByRole('combobox', { name: 'Action' }).selectOption('All');
    const actor = page.getByRole('textbox', { name: 'Key' });
    await actor.fill(id);
    await actor.press('Enter');
    await rows.filter({ hasText: 'key.created' }).waitFor({ state: 'detached' });
    await refused.waitFor();
    t.is(await rows.count(), 1);
    await actor.fill('nobody');
    await actor.press('Enter');
    await page.getByText('No entries').waitFor();

    await site.client.revokeKey(id);
    await actor.fill('');
    await actor.press('Enter');
    await rows.filter({ hasText: 'key.revoked' }).waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('nobody but an admin comes to the audit log', async (t) => {
    const { key } = await stage().site.client.createKey({ role: 'operator' });
    const { page, misdeeds } = await stage().open(t, { key });
    t.is(await page.getByRole('link', { name: 'Audit' }).count(), 0);
    await page.goto('/audit');
    await page.getByText('your key may not see it').waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('a job says which key sent it, and leads to the other jobs of that key', async (t) => {
    const { site } = stage();
    const { key } = await site.client.createKey({ role: 'client', name: 'Sender' });
    const sent = await createClient({ baseUrl: site.url, apiKey: key }).dispatch({
      prompt: 'Mine',
      provider: 'nobody',
    });
    await site.client.dispatch({ prompt: 'Theirs', provider: 'nobody' });
    const { page, misdeeds } = await stage().open(t);
    await page.goto(`/jobs/${sent.id}`);
    await page.getByRole('link', { name: 'Sender' }).click();
    await page.getByText('Mine').first().waitFor();
    t.is(await page.getByText('Theirs').count(), 0);
    await page.goto('/keys');
    t.regex((await page.getByRole('row').filter({ hasText: 'Sender' }).textContent()) ?? '', /ago|now/);
    t.deepEqual(misdeeds.found, []);
  });
});
