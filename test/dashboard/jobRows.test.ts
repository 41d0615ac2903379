import test from 'ava';
import type { Page } from 'playwright-core';
import { faultsOf, overflowOf, pageTests } from './support/browser.ts';
import { dispatchMany, type Site } from './support/site.ts';

const wordy =
  'Sort this mail by urgency and say in one line for each of them what has to be done until when. ';

async function prepare(site: Site): Promise<void> {
  const fail = { class: 'content_filtered', message: 'the filter said no' };
  const [failed = ''] = await dispatchMany(site, [
    { prompt: 'It fails', provider: 'echo', params: { echo_fail: fail } },
  ]);
  await site.client.waitFor(failed);
  await dispatchMany(site, [
    { prompt: 'It waits', provider: 'nobody' },
    ...Array.from({ length: 6 }, (_, n) => ({ prompt: `Many ${n}`, provider: 'nobody', tags: ['many'] })),
  ]);
}

const rowOf = (page: Page, text: string) => page.locator('tbody .job-row', { hasText: text });

pageTests({ slots: 1, prepare }, (stage) => {
  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 900],
    ['light', 360],
  ] as const) {
    test.serial(`rows say why a job failed and why it waits: ${theme}, ${width} px`, async (t) => {
      const { page, misdeeds } = await stage().open(t, { theme, width });
      await page.goto('/jobs');
      const failed = rowOf(page, 'It fails').getByText('content_filtered: the filter said no');
      await failed.waitFor();
      const waiting = rowOf(page, 'It waits').getByText('No connected worker serves the provider nobody');
      await waiting.waitFor();
      t.true((await failed.isVisible()) && (await waiting.isVisible()));
      t.deepEqual(await faultsOf(page), []);
      t.is(await overflowOf(page), 0);
      t.deepEqual(misdeeds.found, []);
    });
  }

  test.serial('a press anywhere in a row opens the job, but not on its checkbox', async (t) => {
    const { page } = await stage().open(t);
    await page.goto('/jobs');
    const row = rowOf(page, 'It waits');
    await row.locator('.check-cell').click({ position: { x: 3, y: 3 } });
    await row.getByRole('checkbox').click();
    t.regex(page.url(), /\/jobs$/);
    t.true(await row.getByRole('checkbox').isChecked());
    await row.locator('.priority-cell').click();
    await page.getByRole('heading', { level: 1, name: 'It waits' }).waitFor();
    await page.goBack();
    await row.locator('.row-reason').click();
    await page.getByRole('heading', { level: 1, name: 'It waits' }).waitFor();
  });

  test.serial('Ctrl and the middle button open a job in a tab of its own', async (t) => {
    const { page } = await stage().open(t);
    await page.goto('/jobs');
    const cell = rowOf(page, 'It waits').locator('.where-cell');
    for (const press of [
      () => cell.click({ modifiers: ['Control'] }),
      () => cell.click({ button: 'middle' }),
    ]) {
      const opened = page.context().waitForEvent('page');
      await press();
      const tab = await opened;
      await tab.getByRole('heading', { level: 1, name: 'It waits' }).waitFor();
      t.regex(page.url(), /\/jobs$/);
      await tab.close();
    }
  });

  test.serial('a text that is selected in a row opens nothing', async (t) => {
    const { page } = await stage().open(t);
    await page.goto('/jobs');
    const reason = rowOf(page, 'It waits').locator('.row-reason');
    const box = await reason.boundingBox();
    if (box === null) throw new Error('the reason has no place');
    await page.mouse.move(box.x + 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + 120, box.y + box.height / 2, { steps: 5 });
    await page.mouse.up();
    const selected = await page.evaluate<string>('getSelection().toString()');
    t.true('No connected worker serves the provider nobody'.startsWith(selected) && selected.length > 3);
    t.regex(page.url(), /\/jobs$/);
  });

  for (const width of [1280, 900, 360]) {
    test.serial(`tags stay beside a long title, also when the job changes: ${width} px`, async (t) => {
      const { page } = await stage().open(t, { width });
      const tags = ['nightly', 'a-tag-that-is-far-longer-than-any-row-has-room-for', 'third'];
      const [id = ''] = await dispatchMany(stage().site, [
        { prompt: `${width}: ${wordy.repeat(4)}`, provider: 'nobody', tags },
      ]);
      await page.goto(`/jobs?q=${width}:`);
      const row = rowOf(page, `${width}: Sort`);
      const seen = async (): Promise<boolean> => {
        await row.waitFor();
        const cell = await row.locator('.title-cell').boundingBox();
        const all = await row.locator('.row-tags > *').all();
        const boxes = await Promise.all(all.map((one) => one.boundingBox()));
        return (
          boxes.length === 3 &&
          boxes.every(
            (box) =>
              box !== null && cell !== null && box.width > 8 && box.x + box.width <= cell.x + cell.width + 1,
          )
        );
      };
      t.true(await seen());
      t.is(await row.locator('.row-tags').textContent(), `${tags[0]}${tags[1]}+1`);
      await stage().site.client.cancel(id);
      await row.getByText('Cancelled').waitFor();
      t.true(await seen());
    });
  }

  test.serial('the counts of the states follow a change of many, and what others do', async (t) => {
    const { page } = await stage().open(t);
    const { client } = stage().site;
    await page.goto('/jobs?tag=many');
    await page.getByRole('button', { name: /^Pending 6/ }).waitFor();
    await page.getByRole('checkbox', { name: 'Select the jobs in view' }).click();
    const bar = page.getByRole('region', { name: 'Selected jobs' });
    await bar.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: 'Cancel 6 jobs' }).click();
    await page.getByRole('button', { name: /^Pending 0/ }).waitFor();
    await page.getByRole('button', { name: /^Cancelled 6/ }).waitFor();
    const { id } = await client.dispatch({ prompt: 'One more', provider: 'nobody', tags: ['many'] });
    await page.getByRole('button', { name: /^Pending 1/ }).waitFor();
    await client.cancel(id);
    await page.getByRole('button', { name: /^Cancelled 7/ }).waitFor();
    t.pass();
  });

  test.serial('why a row waits is read again while it waits', async (t) => {
    t.timeout(120_000);
    const { page } = await stage().open(t);
    const { client } = stage().site;
    const busy = await client.dispatch({
      prompt: 'Busy',
      provider: 'echo',
      params: { echo_delay_ms: 600_000 },
    });
    const next = await client.dispatch({ prompt: 'Queued up', provider: 'echo' });
    await page.goto('/jobs');
    const row = rowOf(page, 'Queued up');
    await row.getByText('Every slot of the workers that fit is taken').waitFor();
    const [worker] = (await client.workers()).workers.filter(({ connected }) => connected);
    await client.pauseWorker(worker?.id ?? '');
    await row.getByText('The workers that fit take no new work now').waitFor();
    await client.resumeWorker(worker?.id ?? '');
    await client.cancelMany({ ids: [busy.id, next.id] });
    t.pass();
  });
});
