import test from 'ava';
import { choicesOf, type Known } from '../../src/dashboard/shell/paletteChoices.ts';
import { type Role, roleMay } from '../../src/domain/key.ts';
import type { WireWorker } from '../../src/domain/wire/worker.ts';
import { faultsOf, overflowOf, pageTests } from './support/browser.ts';
import { dispatchMany, type Site } from './support/site.ts';
import { connectWorker } from './support/workers.ts';

const worker = (name: string, paused = false) =>
  ({ id: `id-${name}`, name, paused, status: paused ? 'paused' : 'active', running: 0 }) as WireWorker;

const known = (role: Role, workers = [worker('gpu-1'), worker('gpu-2', true)]): Known => ({
  pages: [
    { title: 'Workers', pattern: '/workers', icon: 'workers' },
    { title: 'Jobs', pattern: '/jobs', icon: 'jobs' },
  ],
  workers,
  providers: [
    { name: 'vllm', status: 'limited', isHeldUp: true },
    { name: 'openai', status: 'available', isHeldUp: false },
  ],
  jobs: [],
  isQueuePaused: false,
  isNotifying: false,
  may: (needed) => roleMay(role, needed),
});

const texts = (query: string, given: Known) => choicesOf(query, given).map(({ text }) => text);

test('the palette finds workers, providers and actions by words in any order', (t) => {
  t.deepEqual(texts('gpu-1', known('operator')), ['gpu-1', 'Pause worker gpu-1']);
  t.deepEqual(texts('gpu-2', known('operator')), ['gpu-2', 'Resume worker gpu-2']);
  t.deepEqual(texts('2 WORKER resume', known('operator')), ['Resume worker gpu-2']);
  t.deepEqual(texts('vllm', known('operator')), ['vllm', 'Reset provider vllm']);
  t.deepEqual(texts('openai', known('operator')), ['openai'], 'a reset would change nothing');
  t.deepEqual(texts('sign', known('viewer')), ['Sign out']);
  t.deepEqual(texts('dark', known('viewer')), ['Use dark colours']);
  t.deepEqual(texts('queue', known('operator')), ['Pause the queue']);
  t.deepEqual(texts('queue', { ...known('operator'), isQueuePaused: true }), ['Resume the queue']);
  t.deepEqual(texts('queue', known('client')), []);
  t.deepEqual(texts('no such thing', known('admin')), []);
});

test('the palette offers nothing that the role may not do, and no more of a kind than can be read', (t) => {
  for (const role of ['viewer', 'client'] as const) {
    t.deepEqual(texts('gpu-1', known(role)), ['gpu-1']);
    t.deepEqual(texts('vllm', known(role)), ['vllm']);
  }
  t.deepEqual(texts('new job', known('viewer')), []);
  t.deepEqual(texts('new job', known('client')), ['New job']);
  const fleet = Array.from({ length: 2_000 }, (_, n) => worker(`box-${n}`));
  t.is(texts('box', known('admin', fleet)).length, 12);
  t.false(texts('', known('admin', fleet)).some((text) => text.includes('box')));
});

async function prepare(site: Site): Promise<void> {
  await connectWorker(site, { name: 'gpu-box', providers: ['calm'] });
  const fail = { class: 'rate_limited', retry_after_seconds: 3000 };
  await dispatchMany(site, [{ prompt: 'x', provider: 'limited', params: { echo_fail: fail } }]);
}

pageTests({ slots: 1, prepare }, (stage) => {
  test.serial('a worker is found, paused and resumed from the palette', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    const { client } = stage().site;
    const paused = async () =>
      (await client.workers()).workers.find(({ name }) => name === 'gpu-box')?.paused;
    await page.keyboard.press('Control+k');
    await page.locator('.palette-input:focus').waitFor();
    await page.keyboard.type('pause gpu');
    await page.getByRole('option', { name: /Pause worker gpu-box/ }).waitFor();
    t.deepEqual(await faultsOf(page), []);
    await page.keyboard.press('Enter');
    await page.getByText('gpu-box is paused').waitFor();
    t.true(await paused());
    await page.keyboard.press('Control+k');
    await page.locator('.palette-input:focus').waitFor();
    await page.keyboard.type('gpu-box');
    const resume = page.getByRole('option', { name: /Resume worker gpu-box/ });
    await resume.click();
    await page.getByText('gpu-box takes jobs again').waitFor();
    t.false(await paused());
    await page.keyboard.press('Control+k');
    await page.locator('.palette-input:focus').waitFor();
    await page.keyboard.type('gpu-box');
    await page.getByRole('option', { name: /^gpu-box/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'gpu-box' }).waitFor();
    t.deepEqual(misdeeds.found, []);
  });

  test.serial(
    'colours, a new job and signing out are actions, and a viewer has those that are its own',
    async (t) => {
      const { key } = await stage().site.client.createKey({ role: 'viewer' });
      const { page, misdeeds } = await stage().open(t, { key, width: 360 });
      const ask = async (words: string): Promise<void> => {
        await page.keyboard.press('Control+k');
        await page.locator('.palette-input:focus').waitFor();
        await page.keyboard.type(words);
      };
      await ask('dark');
      await page.getByRole('option', { name: /Use dark colours/ }).waitFor();
      t.is(await overflowOf(page), 0);
      await page.keyboard.press('Enter');
      await page.locator('html[data-theme="dark"]').waitFor();
      await ask('gpu-box');
      await page.getByRole('option', { name: /^gpu-box/ }).waitFor();
      t.is(await page.getByRole('option').count(), 1);
      await page.keyboard.press('Escape');
      await ask('new job');
      await page.getByText('No match.').waitFor();
      await page.keyboard.press('Escape');
      await ask('sign out');
      await page.keyboard.press('Enter');
      await page.getByLabel('API key').waitFor();
      t.deepEqual(misdeeds.found, []);
    },
  );
});
