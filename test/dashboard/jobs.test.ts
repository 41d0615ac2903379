import { text } from 'node:stream/consumers';
import test from 'ava';
import type { DispatchBody } from '../../src/domain/wire/job.ts';
import { faultsOf, overflowOf, pageTests } from './support/browser.ts';
import { startRelay } from './support/relay.ts';
import { dispatchMany, type Site, siteKey } from './support/site.ts';

const prompts = [
  'Summarise in one sentence',
  'Translate to German',
  'Sort this mail by urgency',
  'Write a title',
];
const storedJobs = 3_000;

/** A few thousand jobs: most wait for a provider that nobody serves, some have run and failed. */
async function prepare(site: Site): Promise<void> {
  const waiting = Array.from(
    { length: storedJobs },
    (_, i): DispatchBody => ({
      prompt: `${prompts[i % 4]} ${i}`,
      provider: 'nobody',
      priority: i % 5 === 0 ? 'high' : 'normal',
      tags: i % 3 === 0 ? ['mail', 'nightly'] : ['nightly'],
    }),
  );
  await dispatchMany(site, waiting);
  const ended = await dispatchMany(site, [
    ...Array.from({ length: 6 }, (_, i) => ({
      prompt: `Answer ${i}`,
      provider: 'echo',
      model: 'echo-small',
    })),
    ...Array.from({ length: 4 }, (_, i) => ({
      prompt: `Fail ${i}`,
      provider: 'echo',
      params: { echo_fail: 'invalid_request' },
    })),
  ]);
  for (const id of ended) await site.client.waitFor(id);
}

pageTests({ slots: 3, prepare }, (stage) => {
  test.serial('the list shows any job of thousands, and reads only what is in view', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/jobs?')) asked.push(request.url());
    });
    await page.goto('/jobs');
    await page.getByText('Answer 5', { exact: true }).waitFor();
    t.is(await page.locator('table.job-table').getAttribute('aria-rowcount'), String(storedJobs + 11));
    const drawn = await page.locator('tbody .job-row').count();
    t.true(drawn < 60, `${drawn} rows are drawn`);
    await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
    await page.getByText(`${prompts[0]} 0`, { exact: true }).waitFor();
    t.true((await page.locator('tbody .job-row').count()) < 60);
    // The first page and what is new are asked for once more when the live connection is up.
    t.true(asked.length <= 5, asked.join('\n'));
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('filters stand in the address, survive a reload, and Back takes them off', async (t) => {
    const { page } = await stage().open(t);
    await page.goto('/jobs');
    await page.getByRole('button', { name: /^Failed/ }).click();
    await page.waitForURL(/\/jobs\?status=failed$/);
    await page.locator('table[aria-rowcount="5"]').waitFor();
    await page.locator('tbody .job-row').nth(3).waitFor();
    await page.locator('tbody .job-row').nth(4).waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.keyboard.type('fail 2');
    await page.waitForURL(/q=fail\+2/);
    await page.locator('tbody .job-row').nth(1).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText('Fail 2', { exact: true }).waitFor();
    t.is(await page.getByRole('searchbox').inputValue(), 'fail 2');
    t.is(await page.getByRole('button', { name: /^Failed/ }).getAttribute('aria-pressed'), 'true');
    await page.goBack();
    await page.waitForURL(/\/jobs$/);
    await page.getByText('Answer 5', { exact: true }).waitFor();
    t.is(await page.getByRole('searchbox').inputValue(), '');
  });

  test.serial(
    'a tag, a priority and a time narrow the list, each can be taken off, and the counts follow',
    async (t) => {
      const { page } = await stage().open(t);
      await page.goto('/jobs?tag=mail&priority=high&within=1h');
      await page.getByText('200', { exact: true }).first().waitFor();
      await page.getByRole('button', { name: /^Pending 200/ }).waitFor();
      await page.getByRole('button', { name: /^Priority: high/ }).click();
      await page.getByRole('button', { name: /^Pending 1,000/ }).waitFor();
      t.is(new URL(page.url()).search, '?tag=mail&within=1h');
      await page.goto('/jobs?tag=no-such-tag');
      await page.getByText('No job fits these filters').waitFor();
      await page.getByRole('button', { name: 'Remove all filters' }).click();
      await page.waitForURL(/\/jobs$/);
    },
  );

  test.serial('new jobs wait behind a button, and no row moves until it is pressed', async (t) => {
    const { page } = await stage().open(t);
    await page.goto('/jobs');
    const first = page.locator('tbody .job-row .title-cell a').first();
    await first.waitFor();
    const before = await first.textContent();
    const ids = await dispatchMany(stage().site, [
      { prompt: 'A newcomer', provider: 'nobody' },
      { prompt: 'Another newcomer', provider: 'nobody' },
    ]);
    await page.getByRole('button', { name: '2 new' }).waitFor();
    t.is(await first.textContent(), before);
    await page.getByRole('button', { name: '2 new' }).click();
    await page.getByText('Another newcomer', { exact: true }).waitFor();
    await stage().site.client.cancelMany({ ids });
    await page.locator('.job-row', { hasText: 'Another newcomer' }).getByText('Cancelled').waitFor();
  });

  test.serial(
    'a job made after the list was read and before the page hears of events is counted',
    async (t) => {
      const { page } = await stage().open(t);
      const connects = Promise.withResolvers<void>();
      await page.route('**/api/tickets', async (route) => {
        await connects.promise;
        await route.continue();
      });
      await page.goto('/jobs');
      await page.locator('tbody .job-row .title-cell').first().waitFor();
      const ids = await dispatchMany(stage().site, [{ prompt: 'Made between', provider: 'nobody' }]);
      connects.resolve();
      await page.getByRole('button', { name: '1 new' }).waitFor();
      await stage().site.client.cancelMany({ ids });
      t.pass();
    },
  );

  test.serial(
    'pages that are opened while nobody answers are read when the connection is back',
    async (t) => {
      const relay = await startRelay(stage().site.url);
      t.teardown(() => relay.cut());
      const { page } = await stage().open(t, { origin: relay.url });
      for (const [link, sign] of [
        ['Jobs', page.locator('tbody .job-row .title-cell').first()],
        ['Keys', page.getByRole('button', { name: 'Create a key' })],
        ['Cost', page.getByRole('term').filter({ hasText: 'Tokens out' })],
      ] as const) {
        await relay.cut();
        await page.getByText('Offline', { exact: true }).waitFor();
        await page.getByRole('navigation').getByRole('link', { name: link }).click();
        await page.getByText('The coordinator does not answer').first().waitFor();
        await relay.mend();
        await sign.waitFor();
        await page.getByText('The coordinator does not answer').first().waitFor({ state: 'detached' });
      }
      t.pass();
    },
  );

  test.serial(
    'some jobs are chosen, counted, cancelled after a question, and change in their place',
    async (t) => {
      const { page, misdeeds } = await stage().open(t);
      await page.goto('/jobs?q=Write+a+title+29&status=pending');
      const rows = page.locator('tbody .job-row');
      await rows.nth(5).waitFor();
      await rows.nth(1).getByRole('checkbox').click();
      await rows
        .nth(4)
        .getByRole('checkbox')
        .click({ modifiers: ['Shift'] });
      const bar = page.getByRole('region', { name: 'Selected jobs' });
      await bar.getByText('4 jobs selected').waitFor();
      await bar.getByRole('button', { name: 'Cancel', exact: true }).click();
      const question = page.getByRole('dialog', { name: 'Cancel 4 jobs?' });
      await question.getByRole('button', { name: 'Leave it' }).click();
      await question.waitFor({ state: 'detached' });
      t.is(await rows.getByText('Cancelled').count(), 0);
      await bar.getByRole('button', { name: 'Cancel', exact: true }).click();
      await question.getByRole('button', { name: 'Cancel 4 jobs' }).click();
      await page.getByText('4 jobs cancelled').waitFor();
      await rows.getByText('Cancelled').nth(3).waitFor();
      t.is(await bar.count(), 0);
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial(
    'all that match are changed, also those that were never loaded, and nothing else',
    async (t) => {
      const { page } = await stage().open(t);
      const { client } = stage().site;
      await page.goto('/jobs?q=translate');
      await page.locator('tbody .job-row').first().getByRole('checkbox').click();
      await page.getByRole('button', { name: 'Select all 750 that match' }).click();
      const bar = page.getByRole('region', { name: 'Selected jobs' });
      await bar.getByText('All 750 that match').waitFor();
      await bar.getByRole('button', { name: 'Cancel', exact: true }).click();
      await page.getByRole('button', { name: 'Cancel 750 jobs' }).click();
      await page.getByText('750 jobs cancelled').waitFor();
      t.is((await client.jobs({ q: 'translate', status: 'cancelled' })).total, 750);
      t.is((await client.jobs({ q: 'summarise', status: 'cancelled' })).total, 0);
      await page.goto('/jobs?status=failed');
      await page.getByRole('checkbox', { name: 'Select the jobs in view' }).click();
      await bar.getByRole('button', { name: 'Retry' }).click();
      await page.getByRole('button', { name: 'Retry 4 jobs' }).click();
      await page.getByText('4 jobs back in the queue').waitFor();
      const { jobs } = await client.jobs({ q: 'Fail', provider: 'echo' });
      t.deepEqual(
        jobs.map(({ retry_count }) => retry_count),
        [1, 1, 1, 1],
      );
    },
  );

  test.serial('what the filters take is saved as a file, one job a line', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await page.goto('/jobs?tag=mail');
    await page.locator('tbody .job-row').first().waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const lines = (await text(await (await saved).createReadStream())).trimEnd().split('\n');
    t.is(lines.length, 1_000);
    t.true(lines.every((line) => JSON.parse(line).tags.includes('mail')));
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('the list is walked by keyboard alone', async (t) => {
    const { page } = await stage().open(t);
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await page.waitForURL(/\/jobs$/);
    await page.locator('tbody .job-row .title-cell').first().waitFor();
    for (const key of ['j', 'j', 'j', 'k', 'x']) await page.keyboard.press(key);
    t.true(await page.locator('tbody .job-row').nth(1).getByRole('checkbox').isChecked());
    const title = await page.locator('tbody .job-row').nth(1).locator('.title-cell a').textContent();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: title ?? '' }).waitFor();
    await page.keyboard.press('u');
    await page.waitForURL(/\/jobs$/);
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard' });
    await help.getByText('Next job').waitFor();
    await help.getByRole('checkbox').uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    t.regex(page.url(), /\/jobs$/);
  });

  test.serial('a job is found by words of its prompt from anywhere', async (t) => {
    const { page } = await stage().open(t);
    await page.keyboard.press('Control+k');
    await page.locator('.palette-input:focus').waitFor();
    await page.keyboard.type('Answer 3');
    await page.getByRole('option', { name: /Answer 3/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Answer 3' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    t.pass();
  });

  test.serial('who may only look sees no way to change anything', async (t) => {
    const { client, url } = stage().site;
    const { key } = await client.createKey({ role: 'viewer', name: 'looks' });
    const { page, misdeeds } = await stage().open(t, { key });
    await page.goto('/jobs');
    await page.locator('tbody .job-row .title-cell').first().waitFor();
    await page.getByText('read only').waitFor();
    t.is(await page.getByRole('checkbox').count(), 0);
    t.is(await page.getByRole('link', { name: 'New job' }).count(), 0);
    const [pending] = (await client.jobs({ status: 'pending', limit: 1 })).jobs;
    await page.goto(`/jobs/${pending?.id}`);
    await page.getByRole('heading', { name: 'Details' }).waitFor();
    for (const name of ['Cancel', 'Retry'])
      t.is(await page.getByRole('button', { name, exact: true }).count(), 0);
    const answer = await fetch(`${url}/api/jobs/${pending?.id}/cancel`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    t.is(answer.status, 403);
    t.deepEqual(misdeeds.found, []);
  });

  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 360],
  ] as const) {
    test.serial(`the list keeps nobody out: ${theme}, ${width} px`, async (t) => {
      const { page, misdeeds } = await stage().open(t, { theme, width });
      await page.goto(`/jobs?status=pending&tag=mail`);
      await page.locator('tbody .job-row .title-cell').first().waitFor();
      t.deepEqual(await faultsOf(page), []);
      await page.getByRole('button', { name: 'Filters' }).click();
      await page.locator('tbody .job-row').first().getByRole('checkbox').click();
      t.deepEqual(await faultsOf(page), []);
      t.is(await overflowOf(page), 0);
      t.deepEqual(misdeeds.found, []);
    });
  }

  test.serial('a key is asked for, refused when it is wrong, and kept by the tab', async (t) => {
    const { page, misdeeds } = await stage().open(t, { key: null });
    misdeeds.expect(/status of 40[13]/);
    await page.goto('/jobs?status=failed');
    await page.getByLabel('API key').fill('svc_admin_nonsense');
    await page.keyboard.press('Enter');
    await page.getByText('The coordinator does not know this key.').waitFor();
    t.deepEqual(await faultsOf(page), []);
    await page.getByLabel('API key').fill(siteKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
    t.regex(page.url(), /\/jobs\?status=failed$/);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
    t.is(await page.evaluate('Object.keys(localStorage).filter((name) => /key/.test(name)).length'), 0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    t.is(await page.evaluate('sessionStorage.length'), 0);
    t.deepEqual(misdeeds.found, []);
  });

  test.serial(
    'a link that signs in leaves no key behind it, neither in the address nor in the history',
    async (t) => {
      const { page } = await stage().open(t, { key: null });
      await page.goto(`/jobs#key=${encodeURIComponent(siteKey)}`);
      await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
      t.false(page.url().includes('key'));
      await page.goto('/machines');
      await page.goBack();
      t.false(page.url().includes('key'));
    },
  );

  test.serial('a key that is revoked ends the session at once', async (t) => {
    const { client } = stage().site;
    const { key, id } = await client.createKey({ role: 'operator' });
    const { page, misdeeds } = await stage().open(t, { key });
    misdeeds.expect(/status of 401/);
    // An answer that is under way is broken off, which the browser reports as a fault of the page.
    await page.waitForLoadState('networkidle');
    await client.revokeKey(id);
    await page.getByText('Your session has ended').waitFor();
    t.is(await page.getByRole('navigation').count(), 0);
    t.deepEqual(misdeeds.found, []);
  });
});
