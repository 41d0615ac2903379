import test from 'ava';
import type { Page } from 'playwright-core';
import { pageTests } from './support/browser.ts';
import { dispatchMany, type Site } from './support/site.ts';

const paths = ['/', '/jobs/new', '/workers', '/providers', '/cost', '/machines/worker', '/keys', '/connect'];
/** More than any of these pages has. */
const stopsMax = 120;

async function prepare(site: Site): Promise<void> {
  await dispatchMany(
    site,
    Array.from({ length: 300 }, (_, n) => ({ prompt: `Job ${n}`, provider: 'nobody' })),
  );
}

/** Where the focus is. */
interface Stop {
  what: string;
  name: string;
  isSeen: boolean;
  isMarked: boolean;
  isAgain: boolean;
}

/** null where the focus has left the page. */
async function stopOf(page: Page): Promise<Stop | null> {
  return page.evaluate<Stop | null>(`(() => {
    const at = document.activeElement;
    if (at === null || at === document.body) return null;
    const { top, bottom, height } = at.getBoundingClientRect();
    const { outlineStyle } = getComputedStyle(at);
    const box = at.querySelector('.state-box');
    const isAgain = at.wasHere === true;
    at.wasHere = true;
    const name = at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent ?? '';
    return {
      what: at.outerHTML.slice(0, 120),
      name: name.trim(),
      isSeen: height > 0 && bottom > 0 && top < innerHeight,
      isMarked: outlineStyle !== 'none' || (box !== null && getComputedStyle(box).strokeWidth === '3px'),
      isAgain,
    };
  })()`);
}

const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent');

pageTests({ slots: 2, prepare }, (stage) => {
  test.serial(
    'Tab goes through every page, and each of its stops has a name and is to be seen',
    async (t) => {
      t.timeout(240_000);
      const { page } = await stage().open(t);
      for (const path of paths) {
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('.skeleton').first().waitFor({ state: 'detached' });
        let stops = 0;
        for (; stops < stopsMax; stops += 1) {
          await page.keyboard.press('Tab');
          const stop = await stopOf(page);
          if (stop === null || stop.isAgain) break;
          t.not(stop.name, '', `${path}: ${stop.what}`);
          t.true(stop.isSeen && stop.isMarked, `${path}: ${JSON.stringify(stop)}`);
        }
        t.true(stops > 10 && stops < stopsMax, `${path}: ${stops} stops`);
      }
    },
  );

  test.serial('another page begins at its heading, and Back leads to the place in the list', async (t) => {
    const { page } = await stage().open(t);
    for (const key of ['g', 'j']) await page.keyboard.press(key);
    await page.waitForURL(/\/jobs$/);
    await page.waitForFunction('document.activeElement.tagName === "H1"');
    t.is(await focused(page), 'Jobs');
    await page.locator('.job-row .title-cell').first().waitFor();
    for (let press = 0; press < 60; press += 1) await page.keyboard.press('j');
    const place = await page.evaluate<number>('scrollY');
    t.true(place > 1_000, `${place}`);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/jobs\/[0-9a-f-]+$/);
    await page.waitForFunction('scrollY === 0');
    await page.goBack();
    await page.waitForFunction((wanted) => Math.abs(window.scrollY - wanted) < 2, place);
    t.pass();
  });

  test.serial('a dialog begins at what it asks for, and gives the focus back', async (t) => {
    const { page } = await stage().open(t);
    await page.goto('/keys');
    const opener = page.getByRole('button', { name: 'Create a key' });
    await opener.focus();
    await page.keyboard.press('Enter');
    await page.waitForFunction('document.activeElement.matches("dialog input")');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    t.regex(await focused(page), /Create a key/);
  });
});
