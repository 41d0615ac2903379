import test from 'ava';
import { faultsOf, overflowOf, pageTests } from './support/browser.ts';
import type { Site } from './support/site.ts';

/** `:job` and `:worker` stand for some that are there. */
const paths = [
  '/',
  '/jobs',
  '/jobs/new',
  '/jobs/new?from=:job',
  '/jobs/:job',
  '/workers',
  '/workers/:worker',
  '/providers',
  '/cost',
  '/machines',
  '/machines/worker',
  '/machines/provider',
  '/machines/supervisor',
  '/keys',
  '/connect',
  '/nowhere',
];

/** Some jobs of each kind. */
async function prepare({ client }: Site): Promise<void> {
  const run = { prompt: 'Run', provider: 'echo', model: 'echo-small', tags: ['a'] };
  const fails = { ...run, params: { echo_fail: 'content_filtered' } };
  for (const body of [run, fails, { ...run, model: 'other' }]) {
    const { id } = await client.dispatch(body);
    await client.waitFor(id);
  }
  await client.dispatch({ prompt: 'Wait', provider: 'nobody' });
  await client.dispatch({ prompt: 'Stream', provider: 'echo', params: { echo_delay_ms: 600_000 } });
}

pageTests({ slots: 3, prepare }, (stage) => {
  for (const theme of ['light', 'dark'] as const) {
    for (const width of [1280, 360]) {
      for (const role of ['admin', 'viewer'] as const) {
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
    }
  }
});
