import test from 'ava';
import { createClient } from '../../src/client/client.ts';
import { faultsOf, pageTests } from './support/browser.ts';
import { siteKey } from './support/site.ts';

pageTests({}, (stage) => {
  test.serial('a key is made with a role, shown once, works, and is rotated and revoked', async (t) => {
    const { site } = stage();
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/keys');
    await page.getByText('There is no key but the coordinator’s own').waitFor();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('nightly');
    await page.getByRole('radio', { name: /^client/ }).check();
    await page.getByRole('combobox', { name: 'It ends' }).selectOption('In 30 days');
    t.deepEqual(await faultsOf(page), []);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const key = (await page.locator('.secret code').textContent()) ?? '';
    t.regex(key, /^svc_client_/);
    const asked = createClient({ baseUrl: site.url, apiKey: key });
    await asked.jobs();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    const row = page.getByRole('row').filter({ hasText: 'nightly' });
    await row.getByText('client').waitFor();
    t.false((await page.content()).includes(key), 'shown once');

    await row.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('combobox').selectOption('1 hour');
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    const rotated = (await page.locator('.secret code').textContent()) ?? '';
    t.not(rotated, key);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await row.getByText(/taken for (59:\d\d|1:00:00)/).waitFor();
    await asked.jobs();

    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByText('This cannot be undone').waitFor();
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await row.waitFor({ state: 'detached' });
    await t.throwsAsync(asked.jobs(), { message: /Authentication failed/ });
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('an admin sees how many sessions a key has, and ends one of them', async (t) => {
    const { site } = stage();
    const { id, key } = await site.client.createKey({ role: 'viewer', name: 'lent out' });
    const asked = createClient({ baseUrl: site.url, apiKey: key });
    const [first] = [await asked.createSession(), await asked.createSession()];
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/keys');
    const row = page.getByRole('row').filter({ hasText: 'lent out' });
    await row.getByRole('button', { name: '2 sessions' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sessions of lent out' });
    const item = dialog.getByRole('listitem').filter({ hasText: first.id });
    await item.waitFor();
    t.is(await dialog.getByRole('listitem').count(), 2);
    t.deepEqual(await faultsOf(page), []);
    await item.getByRole('button', { name: 'End' }).click();
    await item.waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await row.getByRole('button', { name: '1 session', exact: true }).waitFor();
    await t.throwsAsync(createClient({ baseUrl: site.url, apiKey: first.key }).jobs(), { message: /Auth/ });
    await asked.jobs();
    await page.getByRole('button', { name: /sessions? of SVC_API_KEY/ }).click();
    await page.getByRole('dialog').getByText('this browser').waitFor();
    await site.client.revokeKey(id);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('nobody but an admin comes to the keys', async (t) => {
    const { key } = await stage().site.client.createKey({ role: 'operator' });
    const { page, misdeeds } = await stage().open(t, { key });
    t.is(await page.getByRole('link', { name: 'Keys' }).count(), 0);
    await page.goto('/keys');
    await page.getByText('your key may not see it').waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('the key that the data folder has is marked, and a revocation says what it ends', async (t) => {
    const { client } = stage().site;
    const { id } = await client.createKey({ role: 'admin', name: 'first' });
    const { page, misdeeds } = await stage().open(t);
    // The site of these tests has its key in no file; that the API marks the right one is tested with it.
    await page.route('**/api/keys', async (route) => {
      const response = await route.fetch();
      const { keys } = (await response.json()) as { keys: { id: string }[] };
      const marked = keys.map((key) => (key.id === id ? { ...key, in_data_folder: true } : key));
      await route.fulfill({ response, json: { keys: marked } });
    });
    await page.goto('/keys');
    const mark = 'in admin.key of the data folder';
    const row = page.getByRole('row').filter({ hasText: 'first' });
    await row.getByText(mark).waitFor();
    t.is(await page.getByText(mark).count(), 1);
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByText('the command line on that machine uses').waitFor();
    await page.getByRole('button', { name: 'Leave it' }).click();
    await client.revokeKey(id);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('the list that cannot be had says so, and is tried again', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    misdeeds.expect(/Failed to load resource/);
    // Live before it fails: a connection that comes asks again by itself.
    await page.goto('/workers');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.route('**/api/keys', (route) => route.abort());
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByText('The coordinator does not answer').waitFor();
    await page.unroute('**/api/keys');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('row').filter({ hasText: 'operator' }).waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('commands are copied with the address; the key is in none until it is asked for', async (t) => {
    const { site } = stage();
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/connect?provider=ollama');
    const command = page.getByRole('region', { name: 'Command: worker' });
    await command.getByText('--provider ollama').waitFor();
    t.true(((await command.textContent()) ?? '').includes(`--coordinator ${site.url}`));
    t.false((await page.content()).includes(siteKey));
    await page.getByRole('link', { name: 'Anthropic' }).click();
    await command.getByText('ANTHROPIC_API_KEY').waitFor();
    await page.getByRole('checkbox', { name: /key of this session/ }).check();
    await command.getByText(/SVC_API_KEY=svc_admin_/).waitFor();
    t.false((await page.content()).includes(siteKey));
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByText('Copied').waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  for (const look of [{ theme: 'light' }, { theme: 'dark' }, { width: 360 }] as const) {
    test.serial(`the pages of keys and connecting keep nobody out: ${JSON.stringify(look)}`, async (t) => {
      await stage().site.client.createKey({ role: 'worker', name: 'gpu-box-with-a-long-name' });
      const { page } = await stage().open(t, look);
      for (const path of ['/keys', '/connect?provider=openai']) {
        await page.goto(path);
        await page.locator('main table, main pre').first().waitFor();
        t.deepEqual(await faultsOf(page), []);
        const fits = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth';
        t.true(await page.evaluate(fits), path);
      }
    });
  }
});
