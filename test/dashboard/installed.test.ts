import test from 'ava';
import { until } from '../support/process.ts';
import { pageTests } from './support/browser.ts';
import { startRelay } from './support/relay.ts';
import { siteKey } from './support/site.ts';
import { connectWorker } from './support/workers.ts';

/** Notifications that the page showed: the browser without a window shows none. */
const stub = `globalThis.shown = [];
globalThis.Notification = class {
  static permission = 'granted';
  static requestPermission = async () => 'granted';
  constructor(_title, { body }) { shown.push(body); }
};`;

pageTests({ slots: 1 }, (stage) => {
  test('the manifest of the dashboard names what an installation needs, and its files are there', async (t) => {
    const { url } = stage().site;
    const page = await (await fetch(`${url}/`, { headers: { accept: 'text/html' } })).text();
    t.regex(page, /<link rel="manifest" href="\.\/manifest\.webmanifest"/);
    const answer = await fetch(`${url}/manifest.webmanifest`);
    t.is(answer.headers.get('content-type'), 'application/manifest+json; charset=utf-8');
    const manifest = (await answer.json()) as { icons: { src: string }[] };
    t.like(manifest, { start_url: './', scope: './', display: 'standalone' });
    for (const { src } of manifest.icons) t.is((await fetch(new URL(src, `${url}/`))).status, 200);
    const worker = await fetch(`${url}/sw.js`);
    t.is(worker.headers.get('cache-control'), 'no-cache', 'a new version is found');
  });

  test('the reader is notified of an own run that ends and of a lost worker, when asked to', async (t) => {
    const { site } = stage();
    const { page, misdeeds } = await stage().open(t, { key: null });
    // Another test must not get this page with its stub.
    t.teardown(() => page.close());
    await page.addInitScript(stub);
    await page.goto(`/#key=${encodeURIComponent(siteKey)}`);
    await page.getByText('Live', { exact: true }).waitFor();
    t.is(await page.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)'), 0);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('notify me when');
    await page.keyboard.press('Enter');
    await until('it is on', () => page.evaluate<boolean>("localStorage.getItem('svc.notify') === 'on'"));
    const providers = ['other'];
    const worker = await connectWorker(site, { name: 'to-be-lost', providers });
    const stopped = await connectWorker(site, { name: 'to-be-stopped', providers });
    await page.goto('/workers');
    await page.getByText('to-be-lost').first().waitFor();
    await stopped.stop();
    await worker.crash();
    await until('a notification', () =>
      page.evaluate<boolean>("shown.includes('The worker to-be-lost is lost.')"),
    );
    await site.client.makeRun({ name: 'notified' });
    await site.client.addRunJobs('notified', [{ line_id: '1', prompt: 'p', provider: 'echo' }]);
    await until('a notification', () =>
      page.evaluate<boolean>("shown.includes('The run notified is completed.')"),
    );
    t.is(await page.evaluate('shown.length'), 2, 'a worker that was stopped is not lost');
    t.deepEqual(misdeeds.found, []);
  });

  test('a page that is opened while the coordinator is away says so, and nothing else is kept', async (t) => {
    const relay = await startRelay(stage().site.url);
    t.teardown(() => relay.cut());
    const { page, misdeeds } = await stage().open(t, { origin: relay.url });
    misdeeds.expect(/./);
    await page.evaluate("localStorage.setItem('svc.notify', 'on')");
    await page.reload();
    await page.evaluate('navigator.serviceWorker.ready.then(() => true)');
    await until('the worker', () => page.evaluate<boolean>('navigator.serviceWorker.controller !== null'));
    await page.goto('/jobs');
    await page.getByText('Live', { exact: true }).waitFor();
    const kept = `caches.keys().then((names) => Promise.all(names.map((name) => caches.open(name))))
      .then((all) => Promise.all(all.map((cache) => cache.keys())))
      .then((all) => all.flat().map(({ url }) => new URL(url).pathname))`;
    t.deepEqual(await page.evaluate(kept), ['/offline.html']);
    await relay.cut();
    await page.goto('/jobs');
    await page.getByRole('heading', { name: 'The coordinator does not answer' }).waitFor();
    await relay.mend();
    await page.reload();
    await page.getByText('Live', { exact: true }).waitFor();
    t.deepEqual(await page.evaluate(kept), ['/offline.html']);
  });
});
