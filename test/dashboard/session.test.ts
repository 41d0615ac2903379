import test from 'ava';
import type { Page } from 'playwright-core';
import { pageTests } from './support/browser.ts';
import { startPrefixProxy } from './support/prefix.ts';
import { siteKey } from './support/site.ts';

const live = (page: Page) => page.getByText('Live', { exact: true }).waitFor();
const signInPage = (page: Page) => page.getByRole('heading', { name: 'Sign in' }).waitFor();

/** Everything that a browser keeps of a site beyond its tabs. */
async function keptBy(page: Page): Promise<unknown> {
  const cookies = await page.context().cookies();
  const stored = await page.evaluate('JSON.stringify(localStorage)');
  const databases = await page.evaluate('indexedDB.databases()');
  return { cookies, hasKey: String(stored).includes(siteKey), databases };
}

pageTests({}, (stage) => {
  test('a new tab has the session of an open one, also after a reload, and no key is kept beyond tabs', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    const other = await page.context().newPage();
    await other.goto('/jobs');
    await live(other);
    await other.reload();
    await live(other);
    t.deepEqual(await keptBy(other), { cookies: [], hasKey: false, databases: [] });
    // The first one may go: each tab has the session itself.
    await page.close();
    const third = await other.context().newPage();
    await third.goto('/workers');
    await live(third);
    t.deepEqual(misdeeds.found, []);
  });

  test('signing out ends the session in every tab, and the last tab takes it along', async (t) => {
    const { page } = await stage().open(t);
    const other = await page.context().newPage();
    await other.goto('/');
    await live(other);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await signInPage(other);
    await signInPage(page);
    const third = await page.context().newPage();
    await third.goto('/');
    await signInPage(third);
    // Signed in again in one, a tab that is opened after that has it too.
    await third.getByLabel('API key').fill(siteKey);
    await third.getByRole('button', { name: 'Sign in' }).click();
    await live(third);
    await page.reload();
    await live(page);
    for (const each of [page, other, third]) await each.close();
    const last = await stage().open(t, { key: null });
    await last.page.goto('/');
    await signInPage(last.page);
    t.is(await last.page.evaluate("sessionStorage.getItem('svc.key')"), null);
  });

  test('the session ends in every tab when its key does', async (t) => {
    const { key, id } = await stage().site.client.createKey({ role: 'viewer' });
    const { page } = await stage().open(t, { key });
    const other = await page.context().newPage();
    await other.goto('/');
    await live(other);
    await stage().site.client.revokeKey(id);
    for (const each of [page, other]) {
      await signInPage(each);
      await each.getByText('The key is not accepted any more').waitFor();
      t.is(await each.evaluate("sessionStorage.getItem('svc.key')"), null);
    }
  });

  test('a link with another key asks before it replaces a session, in the same tab and in a new one', async (t) => {
    const { key } = await stage().site.client.createKey({ role: 'viewer', name: 'of the link' });
    const start = key.split('_').slice(0, 3).join('_');
    const { page } = await stage().open(t);
    const keyOf = (of: Page) => of.evaluate("sessionStorage.getItem('svc.key')");
    const question = (of: Page) => of.getByRole('dialog', { name: `Switch to the key ${start}_…?` });
    await page.goto(`/jobs#key=${key}`);
    await question(page).waitFor();
    t.false(page.url().includes(key), 'the address has no key any more');
    await page.getByRole('button', { name: 'Leave it' }).click();
    t.is(await keyOf(page), siteKey);

    const other = await page.context().newPage();
    await other.goto(`/#key=${key}`);
    await question(other).waitFor();
    t.is(
      await keyOf(other),
      siteKey,
      'the tab has the session of the browser until the reader says otherwise',
    );
    const isLoaded = other.waitForEvent('load');
    await other.getByRole('button', { name: 'Switch', exact: true }).click();
    await isLoaded;
    await live(other);
    t.is(await keyOf(other), key);
    t.is(await keyOf(page), siteKey, 'the other tab stays as it is');

    await page.goto(`/jobs#key=${siteKey}`);
    await live(page);
    t.is(await page.getByRole('dialog').count(), 0, 'nothing to ask when it is the same');
  });

  test('a link with a key that is not taken leaves the session as it is', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    misdeeds.expect(/401/);
    await page.goto('/#key=svc_admin_nobody_nothing');
    await page.getByRole('button', { name: 'Switch', exact: true }).click();
    await page.getByText('Authentication failed').waitFor();
    await live(page);
    t.is(await page.evaluate("sessionStorage.getItem('svc.key')"), siteKey);
    t.deepEqual(misdeeds.found, []);
  });

  for (const [what, faults, said] of [
    [
      'does not pass the upgrade on',
      { dropsUpgrade: true },
      /a proxy on the way does not pass the upgrade of \/ws on/,
    ],
    [
      'writes another Host',
      { changesHost: true },
      /set public_url to http:\/\/127\.0\.0\.1:\d+, or let the proxy pass/,
    ],
  ] as const) {
    test(`behind a proxy that ${what} the page says so`, async (t) => {
      const address = await startPrefixProxy(t, stage().site.url, '/svc', faults);
      const { page } = await stage().open(t, { key: null, origin: new URL(address).origin });
      await page.goto(`${address}/#key=${siteKey}`);
      await page.getByRole('status').getByText(said).waitFor();
      t.pass();
    });
  }
});
