import test from 'ava';
import { createClient } from '../../src/client/client.ts';
import { faultsOf, overflowOf, pageTests } from './support/browser.ts';
import { type Site, siteKey } from './support/site.ts';
import { connectWorker } from './support/workers.ts';

/** `:job` and `:worker` stand for some that are there. */
const paths = [
  '/',
  '/jobs',
  '/jobs/new',
  '/jobs/new?from=:job',
  '/jobs/:job',
  '/runs',
  '/runs/a-run',
  '/workers',
  '/workers/:worker',
  '/providers',
  '/cost',
  '/machines',
  '/machines/worker',
  '/machines/provider',
  '/machines/supervisor',
  '/keys',
  '/webhooks',
  '/audit',
  '/connect',
  '/nowhere',
];

/** A run with a failed and a waiting job. */
async function sendRun(site: Site): Promise<void> {
  const post = (path: string, body: unknown) =>
    fetch(site.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${siteKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await post('/api/runs', { name: 'a-run', max_cost_usd: 5, max_failures: 1 });
  const jobs = [
    { line_id: '1', prompt: 'Fail', provider: 'echo', params: { echo_fail: 'content_filtered' } },
    { line_id: '2', prompt: 'Wait', provider: 'nobody' },
  ];
  await post('/api/runs/a-run/jobs', { jobs });
}

/** Some jobs of each kind, and a worker that is gone, with all that its line in the list can hold. */
async function prepare(site: Site): Promise<void> {
  const { client } = site;
  const names = { name: 'a-box-with-a-long-name-in-the-basement', providers: ['vllm', 'llamacpp', 'ollama'] };
  const gone = await connectWorker(site, { ...names, concurrency: 24, tags: ['gpu', 'eu-west', 'at-night'] });
  await gone.stop();
  const run = { prompt: 'Run', provider: 'echo', model: 'echo-small', tags: ['a'] };
  const fails = { ...run, params: { echo_fail: 'content_filtered' } };
  for (const body of [run, fails, { ...run, model: 'other' }]) {
    const { id } = await client.dispatch(body);
    await client.waitFor(id);
  }
  const { key } = await client.createKey({ role: 'operator', name: 'Night shift' });
  const nightShift = createClient({ baseUrl: site.url, apiKey: key });
  for (let count = 0; count < 10; count += 1) await nightShift.createSession();
  await sendRun(site);
  await client.dispatch({ prompt: 'Wait', provider: 'nobody' });
  await client.dispatch({ prompt: 'Stream', provider: 'echo', params: { echo_delay_ms: 600_000 } });
}

pageTests({ slots: 3, prepare }, (stage) => {
  for (const width of [830, 1000, 1250]) {
    test.serial(`no table is wider than its place at ${width} px`, async (t) => {
      const { page } = await stage().open(t, { width });
      for (const path of ['/jobs', '/workers', '/keys', '/audit', '/cost']) {
        await page.goto(path);
        await page.locator(':is(.job-table, .stacked) tbody tr').first().waitFor();
        if (path === '/keys') await page.getByRole('button', { name: '10 sessions' }).waitFor();
        t.is(await overflowOf(page), 0, path);
        const cut = await page
          .locator('table, tbody tr')
          .evaluateAll((all) =>
            all
              .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
              .map(({ className }) => className),
          );
        t.deepEqual(cut, [], path);
      }
    });
  }

  for (const width of [1280, 380]) {
    test.serial(`names of any length and direction have room at ${width} px`, async (t) => {
      const { site } = stage();
      const { client } = site;
      const long = 'Donaudampfschifffahrtsgesellschaft'.repeat(4);
      const { id } = await client.dispatch({
        prompt: `${'سلام دنیا '.repeat(20)}${'🚀'.repeat(200)}`,
        provider: long,
        model: long,
        tier: long,
        tags: [long, 'עברית'],
        metadata: { [long.slice(0, 60)]: long },
      });
      const name = `${width}-${long.slice(0, 90)}`;
      const worker = await connectWorker(site, { name, providers: ['echo'], tags: [long] });
      const { id: key } = await client.createKey({ role: 'viewer', name: long.slice(0, 100) });
      const { page } = await stage().open(t, { width });
      for (const path of [
        '/',
        '/jobs',
        `/jobs/${id}`,
        '/workers',
        `/workers/${worker.id}`,
        '/keys',
        '/connect',
      ]) {
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('.skeleton').first().waitFor({ state: 'detached' });
        if (path === '/connect') await page.getByText(new RegExp(`connected: .*${name}`)).waitFor();
        t.is(await overflowOf(page), 0, path);
      }
      await page.goto('/jobs');
      await page.locator('.job-row .title-cell a:dir(rtl)', { hasText: 'سلام' }).first().waitFor();
      await client.cancel(id);
      await worker.stop();
      await client.revokeKey(key);
    });
  }

  // Each theme, each width and each kind of role, and not each with each: colours do not depend on the width, nor
  // room on the role.
  const looks = [
    { theme: 'light', width: 1280, role: 'admin' },
    { theme: 'dark', width: 360, role: 'admin' },
    { theme: 'dark', width: 1280, role: 'viewer' },
  ] as const;
  for (const { theme, width, role } of looks) {
    test.serial(`every page in ${theme} at ${width} px for a key of the role ${role}`, async (t) => {
      t.timeout(180_000);
      const { client } = stage().site;
      const { key } = await client.createKey({ role });
      const job = (await client.jobs({ status: 'failed', limit: 1 })).jobs[0]?.id ?? '';
      const worker = (await client.workers()).workers[0]?.id ?? '';
      const { page, misdeeds } = await stage().open(t, { key, theme, width });
      for (const path of paths) {
        await page.goto(path.replace(':job', job).replace(':worker', worker));
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('.skeleton').first().waitFor({ state: 'detached' });
        t.deepEqual(await faultsOf(page), [], path);
        t.is(await overflowOf(page), 0, path);
        t.is(await page.getByRole('heading', { level: 1 }).count(), 1, path);
        t.regex(await page.title(), /\S+ · SVC$/, path);
      }
      t.deepEqual(misdeeds.found, []);
    });
  }
});
