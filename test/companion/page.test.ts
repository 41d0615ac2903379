import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { sharedChromium } from '../dashboard/support/browser.ts';
import { faultsOf, hasChromium, Misdeeds, overflowOf } from '../dashboard/support/stage.ts';
import { fakeOllama } from '../fixtures/providers/ollama.ts';
import { adminKey, sharedCoordinator, until } from '../support/process.ts';
import { emptyHome, startCompanion, writeSettings } from './companion.ts';

const coordinator = sharedCoordinator();
const withBrowser = hasChromium ? test.serial : test.serial.skip;
let browser: Browser | null = null;

test.before(async () => {
  if (hasChromium) browser = await sharedChromium();
});
test.after.always(() => browser?.close());

/** A browser of its own for a test, with nothing in it. */
async function open(
  t: ExecutionContext,
  link: string,
): Promise<{ page: Page; context: BrowserContext; misdeeds: Misdeeds }> {
  if (browser === null) throw new Error('it is launched before the first test');
  const context = await browser.newContext({ viewport: { width: 640, height: 900 } });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const misdeeds = new Misdeeds(page, new URL(link).origin);
  await page.goto(link);
  await page.getByRole('heading', { name: 'SVC companion' }).waitFor();
  return { page, context, misdeeds };
}

withBrowser('from an empty home to a running worker, in the window', async (t) => {
  const { url, client } = coordinator();
  const ollama = await fakeOllama(t);
  const home = emptyHome(t);
  writeSettings(home, {}, { providers: { ollama: { base_url: ollama.url } } });
  const companion = await startCompanion(t, home);
  const { page, misdeeds } = await open(t, companion.link);
  t.false(page.url().includes('ticket'), 'the link is not in the address any more');
  await page.getByText('Needs a key and a model server').waitFor();

  await page.getByLabel('Address').fill(url);
  await page.getByLabel('Key', { exact: true }).fill('svc_worker_aaaaaaaaaaaa_bbbbbbbbbbbbbbbb');
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByText('the coordinator does not know this key').waitFor();
  await page.getByText('svc keys create --role worker').first().waitFor();

  const { key } = await client.createKey({ role: 'worker', name: 'windowed' });
  await page.getByLabel('Key', { exact: true }).fill(key);
  await page.getByLabel('Name of this worker').fill('windowed');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByLabel('Ollama').click();
  await page.getByText('Connected', { exact: true }).waitFor();
  const { workers } = await client.workers();
  t.like(
    workers.find(({ name }) => name === 'windowed'),
    { connected: true, providers: ['ollama'] },
  );
  t.false((await page.content()).includes(key));
  t.deepEqual(await faultsOf(page), []);
  t.is(await overflowOf(page), 0);

  await page.getByLabel('Jobs at once').fill('3');
  // A change of the worker's state leaves what is being typed.
  const windowed = workers.find(({ name }) => name === 'windowed')?.id ?? '';
  await client.pauseWorker(windowed);
  await page.getByText('paused by an operator').waitFor();
  t.is(await page.getByLabel('Jobs at once').inputValue(), '3');
  await client.resumeWorker(windowed);
  await page.getByLabel('Jobs at once').press('Enter');
  await page.getByText('0 of 3 slots in use').waitFor();
  await page.getByLabel('Paused').click();
  await page.getByText('Connected; takes no new work').waitFor();
  await page.getByLabel('Off').click();
  await page.getByText('Off', { exact: true }).first().waitFor();
  await page.getByLabel('Start at login').click();
  await companion.until('it is installed', ({ login }) => login.isInstalled);
  // Boxes show what the companion says, so that a click may be seen late: here and above they are clicked, not checked.
  await page.getByRole('checkbox', { name: 'Start at login', checked: true }).waitFor();
  await page.getByLabel('Start at login').click();
  await companion.until('it is not', ({ login }) => !login.isInstalled);
  t.deepEqual(misdeeds.found, []);
});

withBrowser('a key that is changed on the page is in use within two seconds', async (t) => {
  const { url, client } = coordinator();
  const home = emptyHome(t);
  const { id, key } = await client.createKey({ role: 'worker', name: 'page-key' });
  writeSettings(home, { coordinator: url, api_key: key, name: 'page-key', providers: ['echo'] });
  const companion = await startCompanion(t, home);
  const { page } = await open(t, companion.link);
  await page.getByText('Connected', { exact: true }).waitFor();
  const { key: next } = await client.rotateKey(id, 60);
  await page.getByLabel('Key', { exact: true }).fill(next);
  await page.getByRole('button', { name: 'Save' }).click();
  await companion.until('it is changed', ({ log }) =>
    log.some(({ text }) => text.startsWith('the key has changed')),
  );
  await companion.until('it works', ({ worker }) => worker.phase === 'working', companion.soonMs);
  await page.getByText('Saved.').waitFor();
  t.pass();
});

withBrowser('the dashboard opens signed in', async (t) => {
  const { url } = coordinator();
  const home = emptyHome(t);
  writeSettings(home, { coordinator: url, api_key: adminKey, name: 'signed-in', providers: ['echo'] });
  const companion = await startCompanion(t, home);
  const { page, context } = await open(t, companion.link);
  const [dashboard] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: 'Open the dashboard' }).click(),
  ]);
  await dashboard.getByText('Live', { exact: true }).waitFor();
  t.is(new URL(dashboard.url()).origin, url);
  t.is(new URL(dashboard.url()).hash, '');
});

withBrowser('a page on another port can neither change nor read anything, and gets no cookie', async (t) => {
  const home = emptyHome(t);
  const companion = await startCompanion(t, home);
  const { context } = await open(t, companion.link);
  let cookies: string | undefined;
  const other = createServer((request, response) => {
    cookies = request.headers.cookie;
    response.setHeader('content-type', 'text/html').end('<title>other</title>');
  }).listen(0, '127.0.0.1');
  t.teardown(() => {
    other.close();
    other.closeAllConnections();
  });
  await new Promise((resolve) => other.once('listening', resolve));
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
  t.is(cookies, undefined);
  // It even knows the secret folder.
  const attack = `Promise.allSettled([
    fetch('${companion.contact.url}api/state', { credentials: 'include' }),
    fetch('${companion.contact.url}api/stop', { method: 'POST', credentials: 'include' }),
    fetch('${companion.contact.url}api/stop', { method: 'POST', mode: 'no-cors', body: '{}', credentials: 'include' }),
  ]).then((all) => all.map(({ status, value }) => status === 'rejected' ? 'refused' : value.type))`;
  t.deepEqual(await page.evaluate(attack), ['refused', 'refused', 'refused']);
  t.is(companion.process.exit, null);
  t.is((await companion.until('it runs', () => true)).worker.mode, 'on');
});

withBrowser(
  'a window that outlives the companion says so, and that it is signed out after a restart',
  async (t) => {
    const home = emptyHome(t);
    const companion = await startCompanion(t, home);
    const { page } = await open(t, companion.link);
    const { port } = new URL(companion.link);
    companion.process.signal('SIGTERM');
    await companion.process.exited;
    await page.getByText('The companion does not answer').waitFor();
    await startCompanion(t, home, ['--port', port]);
    await page.getByText('This window is signed out').waitFor();
    t.pass();
  },
);

/** Notifications that the page showed: the browser without a window shows none. */
const stub = `globalThis.shown = [];
globalThis.Notification = class {
  static permission = 'granted';
  static requestPermission = async () => 'granted';
  constructor(_title, { body }) { shown.push(body); }
};`;

withBrowser('a failed job is shown with what to do, and notified of when asked to', async (t) => {
  const { url, client } = coordinator();
  const home = emptyHome(t);
  writeSettings(home, { coordinator: url, api_key: adminKey, name: 'failing', providers: ['echo'] });
  const companion = await startCompanion(t, home);
  const { page, context } = await open(t, companion.link);
  await context.addInitScript(stub);
  await page.reload();
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.getByLabel('Notify me of failed jobs and problems').click();
  await page.getByRole('checkbox', { name: /^Notify me/, checked: true }).waitFor();
  const { workers } = await client.workers();
  // Workers of ended tests may still be known.
  t.is(workers.filter(({ connected }) => connected).length, 1);
  const params = { echo_fail: 'context_overflow' };
  await client.dispatch({ prompt: 'p', provider: 'echo', params }, { waitSeconds: 20 });
  await page.getByText('a larger context, or a shorter prompt').waitFor();
  await page.getByText('0 completed, 1 failed').waitFor();
  const shown = await until('a notification', async () => {
    const all = await page.evaluate<string[]>('shown');
    return all.length > 0 && all;
  });
  t.deepEqual(shown, [
    'A job failed (context_overflow). The job needs a model with a larger context, or a shorter prompt.',
  ]);
});
