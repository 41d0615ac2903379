import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { demoJobs } from '../../src/commands/demoTexts.ts';
import type { DispatchBody } from '../../src/domain/wire/job.ts';
import { dispatchMany, siteKey, startSite } from './support/site.ts';
import { launchChromium } from './support/stage.ts';

/**
 * Takes the pictures of docs/images: a coordinator with the texts of the demonstration, busy for some minutes.
 * `npm run pictures`, or with `PICTURES_SECONDS=60` for a shorter course in the charts.
 */
const seconds = Number(process.env.PICTURES_SECONDS ?? 300);
const folder = resolve(import.meta.dirname, '../../docs/images');

/** A job of the demonstration with a time of its own; one in thirty fails. */
function variant(job: DispatchBody, n: number): DispatchBody {
  const delay = 900 + ((n * 733) % 2_600);
  const fail =
    n % 30 === 17 ? { echo_fail: { class: 'content_filtered', message: 'The answer was held back' } } : {};
  return {
    ...job,
    model: n % 5 === 0 ? 'echo-large' : 'echo-small',
    params: { echo_delay_ms: delay, ...fail },
  };
}

const site = await startSite({ slots: 12 });
const browser = await launchChromium();
try {
  mkdirSync(folder, { recursive: true });
  const texts = await demoJobs();
  let sent = 0;
  const work = async (second: number): Promise<void> => {
    // It ebbs and flows around what the slots can do, some five a second.
    const count = Math.round(5 + 3 * Math.sin(second / 25) + (second % 40 === 0 ? 12 : 0));
    const jobs = Array.from({ length: count }, (_, i) =>
      variant(texts[(sent + i) % texts.length] ?? {}, sent + i),
    );
    await dispatchMany(site, jobs);
    sent += count;
  };
  for (let second = 0; second < seconds; second += 1) {
    await work(second);
    await pause(1_000);
  }
  const story = texts[0]?.input ?? '';
  const { id: streaming } = await site.client.dispatch({
    ...texts[0],
    priority: 'critical',
    params: { echo_delay_ms: 40_000, echo_output: story.repeat(4) },
  });
  await pause(8_000);
  const shots: { name: string; path: string; theme: 'light' | 'dark'; width: number; height: number }[] = [
    { name: 'overview-light', path: '/', theme: 'light', width: 1280, height: 860 },
    { name: 'overview-dark', path: '/', theme: 'dark', width: 1280, height: 860 },
    { name: 'jobs-light', path: '/jobs', theme: 'light', width: 1280, height: 720 },
    { name: 'job-dark', path: `/jobs/${streaming}`, theme: 'dark', width: 1280, height: 860 },
    { name: 'machines-light', path: '/machines/job', theme: 'light', width: 1280, height: 900 },
    { name: 'job-phone', path: `/jobs/${streaming}`, theme: 'light', width: 360, height: 740 },
  ];
  for (const { name, path, theme, width, height } of shots) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
    const page = await context.newPage();
    await page.goto(`${site.url}/#key=${siteKey}`);
    await page.getByText('Live', { exact: true }).waitFor();
    await work(40);
    await page.goto(site.url + path);
    await pause(2_000);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await context.close();
  }
} finally {
  await browser.close();
  await site.stop();
}
