import test from 'ava';
import type { Page } from 'playwright-core';
import { createClient } from '../../src/client/client.ts';
import { faultsOf, pageTests } from './support/browser.ts';
import { startPrefixProxy } from './support/prefix.ts';
import { siteKey } from './support/site.ts';

const live = (page: Page) => page.getByText('Live', { exact: true }).waitFor();
const signInPage = (page: Page) => page.getByRole('heading', { name: 'Sign in' }).waitFor();

/** The session that a tab keeps; null when it is signed out. */
async function sessionOf(page: Page): Promise<{ id: string; key: string; keyId: string } | null> {
  return JSON.parse(await page.evaluate<string>("sessionStorage.getItem('svc.session') ?? 'null'"));
}

/** The hidden part of a key. */
const secretOf = (key: string): string => key.split('_')[3] ?? key;

/** What a browser keeps of a site: beyond its tabs nothing of the session, and nowhere the key that made it. */
async function keptBy(page: Page, parent: string): Promise<unknown> {
  const cookies = await page.context().cookies();
  const local = await page.evaluate<string>('JSON.stringify(localStorage)');
  const tab = await page.evaluate<string>('JSON.stringify(sessionStorage)');
  const databases = await page.evaluate('indexedDB.databases()');
  const session = (await sessionOf(page))?.key ?? 'none';
  return {
    cookies,
    databases,
    hasSession: local.includes(secretOf(session)),
    hasKey: `${local}${tab}`.includes(secretOf(parent)),
  };
}

const kept = { cookies: [], databases: [], hasSession: false, hasKey: false };

pageTests({}, (stage) => {
  test('a new tab has the session of an open one, also after a reload, and no key is kept beyond tabs', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    const other = await page.context().newPage();
    await other.goto('/jobs');
    await live(other);
    await other.reload();
    await live(other);
    for (const each of [page, other]) t.deepEqual(await keptBy(each, siteKey), kept);
    t.deepEqual(await sessionOf(other), await sessionOf(page), 'one session, whatever the number of tabs');
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
    const session = await sessionOf(page);
    const asked = createClient({ baseUrl: stage().site.url, apiKey: session?.key ?? null });
    await asked.jobs();
    const isEnded = other.waitForResponse((answer) => answer.url().endsWith('/api/sessions/current'));
    await other.getByRole('button', { name: 'Sign out' }).click();
    t.is((await isEnded).status(), 200);
    await t.throwsAsync(asked.jobs(), { message: /Authentication failed/ });
    const { sessions } = await stage().site.client.sessions();
    t.false(sessions.some(({ id }) => id === session?.id));
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
    t.is(await sessionOf(last.page), null);
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
      await each.getByText('Your session has ended').waitFor();
      t.is(await sessionOf(each), null);
    }
  });

  test('a session that is ended at the coordinator signs its tabs out, and no other browser', async (t) => {
    const { key, id } = await stage().site.client.createKey({ role: 'viewer' });
    const { page } = await stage().open(t, { key });
    const { page: elsewhere } = await stage().open(t, { key });
    const other = await page.context().newPage();
    await other.goto('/');
    await live(other);
    t.deepEqual(await keptBy(other, key), kept);
    const session = await sessionOf(page);
    t.is(session?.keyId, id);
    t.not((await sessionOf(elsewhere))?.id, session?.id);
    await stage().site.client.endSession(session?.id ?? '');
    for (const each of [page, other]) {
      await signInPage(each);
      await each.getByText('Your session has ended').waitFor();
    }
    await elsewhere.reload();
    await live(elsewhere);
  });

  test('a reader sees the sessions of their key, and ends another one or signs out', async (t) => {
    const { key } = await stage().site.client.createKey({ role: 'viewer' });
    const { page, misdeeds } = await stage().open(t, { key });
    const { page: elsewhere } = await stage().open(t, { key });
    await page.getByRole('button', { name: 'Sessions of your key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sessions of your key' });
    await dialog.getByText('this browser').waitFor();
    t.is(await dialog.getByRole('listitem').count(), 2);
    t.deepEqual(await faultsOf(page), []);
    await dialog.getByRole('button', { name: 'End', exact: true }).click();
    await signInPage(elsewhere);
    await dialog.getByRole('listitem').nth(1).waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await signInPage(page);
    t.deepEqual(misdeeds.found, []);
  });

  test('a coordinator that cannot be reached at the sign-out is told of on the sign-in page', async (t) => {
    const { page } = await stage().open(t);
    await page.route('**/api/sessions/current', (route) => route.abort());
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('the coordinator could not be reached to end the session').waitFor();
    t.is(await sessionOf(page), null);
  });

  test('a key that may not look gets no session, typed or by a link', async (t) => {
    const { key } = await stage().site.client.createKey({ role: 'worker' });
    const { page } = await stage().open(t, { key: null });
    await page.goto(`/#key=${key}`);
    await page.getByText('This key cannot sign in to the dashboard').waitFor();
    await page.goto('/#key=svc_admin_nobody_nothing');
    await page.getByText('The coordinator does not know this key.').waitFor();
    t.is(await sessionOf(page), null);
    await page.route('**/api/sessions', (route) => route.abort());
    await page.getByLabel('API key').fill(siteKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The coordinator does not answer').waitFor();
    t.is(await sessionOf(page), null);
  });

  test('a link with another key asks before it replaces a session, in the same tab and in a new one', async (t) => {
    const { key, id } = await stage().site.client.createKey({ role: 'viewer', name: 'of the link' });
    const start = key.split('_').slice(0, 3).join('_');
    const { page } = await stage().open(t);
    const keyOf = async (of: Page) => (await sessionOf(of))?.keyId;
    const question = (of: Page) => of.getByRole('dialog', { name: `Switch to the key ${start}_…?` });
    await page.goto(`/jobs#key=${key}`);
    await question(page).waitFor();
    t.false(page.url().includes(key), 'the address has no key any more');
    await page.getByRole('button', { name: 'Leave it' }).click();
    t.is(await keyOf(page), 'environment');

    const other = await page.context().newPage();
    await other.goto(`/#key=${key}`);
    await question(other).waitFor();
    t.is(
      await keyOf(other),
      'environment',
      'the tab has the session of the browser until the reader says otherwise',
    );
    const isLoaded = other.waitForEvent('load');
    await other.getByRole('button', { name: 'Switch', exact: true }).click();
    await isLoaded;
    await live(other);
    t.is(await keyOf(other), id);
    t.deepEqual(await keptBy(other, key), kept);
    t.is(await keyOf(page), 'environment', 'the other tab stays as it is');

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
    t.is((await sessionOf(page))?.keyId, 'environment');
    t.deepEqual(misdeeds.found, []);
  });

  for (const [what, faults, said] of [
    [
      'does not pass on the upgrade',
      { dropsUpgrade: true },
      /a proxy in between does not pass on the upgrade of \/ws \(/,
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
