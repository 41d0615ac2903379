import type { ExecutionContext } from 'ava';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { executablePath, flags } from './chromium.ts';
import { type Site, siteKey } from './site.ts';

/** Whether there is a browser to look at pages with. */
export const hasChromium = executablePath !== undefined;

/** @throws when there is none. */
export function launchChromium(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('there is no Chromium here');
  return chromium.launch({ executablePath, args: flags, headless: true });
}

/** What a page is looked at with. */
export interface Look {
  /** Default 1280 by 800. */
  width?: number;
  height?: number;
  theme?: 'light' | 'dark';
}

/** A coordinator with its dashboard, and a browser to look at it; one for all tests of a file. */
export class Stage {
  readonly site: Site;
  readonly #browser: Browser;
  /** Clean pages of ended tests: a new page costs 1 to 2 s of processor time, a further load in an old one 0.2 s. */
  readonly #idle: Page[] = [];

  constructor(site: Site, browser: Browser) {
    this.site = site;
    this.#browser = browser;
  }

  /**
   * A page with nothing of earlier tests: no cookies, storage, permissions or routes. With a key it is signed in.
   * @param origin where it finds the coordinator, when that is not its own address.
   */
  async open(
    t: ExecutionContext,
    {
      key = siteKey,
      origin = this.site.url,
      width = 1280,
      height = 800,
      theme = 'light',
    }: Look & { key?: string | null; origin?: string } = {},
  ): Promise<{ page: Page; misdeeds: Misdeeds }> {
    const idle = origin === this.site.url ? this.#idle.pop() : undefined;
    const page = idle ?? (await this.#newPage(origin));
    t.teardown(() => this.#release(page, origin));
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    const misdeeds = new Misdeeds(page, origin);
    if (key !== null) {
      await page.goto(`/#key=${encodeURIComponent(key)}`);
      await page.getByText('Live', { exact: true }).waitFor();
    }
    return { page, misdeeds };
  }

  async #newPage(origin: string): Promise<Page> {
    const context = await this.#browser.newContext({ baseURL: origin });
    const page = await context.newPage();
    // A machine that builds and tests at once is slow; what never comes is still told.
    page.setDefaultTimeout(60_000);
    return page;
  }

  /** Clean a page for the next test. One that has opened others, or knows another origin, is closed with them. */
  async #release(page: Page, origin: string): Promise<void> {
    const context = page.context();
    if (page.isClosed() || context.pages().length > 1 || origin !== this.site.url) return context.close();
    page.removeAllListeners();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    // A document of the same origin in which nothing of ours runs.
    await page.goto('/api/health');
    await page.evaluate('localStorage.clear(); sessionStorage.clear()');
    await page.goto('about:blank');
    await page.mouse.move(0, 0);
    await context.clearCookies();
    await context.clearPermissions();
    this.#idle.push(page);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.site.stop();
  }
}

/** From its next load on the page of a job shows the chart of its states, which is folded by default. */
export async function showStates(page: Page): Promise<void> {
  await page.evaluate("localStorage.setItem('svc.states', 'on')");
}

/** What a page did that no page of ours may do. */
export class Misdeeds {
  readonly found: string[] = [];
  readonly #expected: RegExp[] = [];

  /** @param origin the only address that the page may ask. */
  constructor(page: Page, origin: string) {
    page.on('console', (message) => {
      const isBad = message.type() === 'error' || message.type() === 'warning';
      if (isBad && !this.#isExpected(message.text())) this.found.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.found.push(`error: ${error.message}`));
    page.on('request', (request) => {
      const { origin: asked, protocol } = new URL(request.url());
      if (asked !== origin && protocol !== 'blob:') this.found.push(`request: ${request.url()}`);
    });
    page.on('websocket', (socket) => {
      if (new URL(socket.url()).host !== new URL(origin).host) this.found.push(`socket: ${socket.url()}`);
    });
  }

  /** The browser itself writes a line for every answer that is a refusal, and for every socket that breaks. */
  expect(pattern: RegExp): void {
    this.#expected.push(pattern);
  }

  #isExpected(text: string): boolean {
    return this.#expected.some((pattern) => pattern.test(text));
  }
}

/** What axe finds on a page that keeps people out: its serious and critical faults, of WCAG 2.2 AA and its best practices. */
export async function faultsOf(page: Page): Promise<unknown> {
  await page.evaluate(axe.source);
  return page.evaluate(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]))`);
}

/** How much wider the page is than the window, px. */
export async function overflowOf(page: Page): Promise<number> {
  const { scrollWidth, clientWidth } = await page.evaluate<{ scrollWidth: number; clientWidth: number }>(
    '({ scrollWidth: document.documentElement.scrollWidth, clientWidth: document.documentElement.clientWidth })',
  );
  return Math.max(0, scrollWidth - clientWidth);
}
