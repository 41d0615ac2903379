import { existsSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { type Browser, chromium, type Page } from 'playwright-core';

const paths = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** `SVC_TEST_CHROMIUM` names another one. */
const executablePath = process.env.SVC_TEST_CHROMIUM ?? paths.find((path) => existsSync(path));

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** What every test of pages needs; it says how to have it. */
export async function launch(): Promise<Browser> {
  if (executablePath === undefined) {
    throw new Error(
      'These tests drive the dashboard in Chromium, and there is none: apt-get install chromium, or name it in SVC_TEST_CHROMIUM',
    );
  }
  return chromium.launch({ executablePath, args: flags, headless: true });
}

export interface Look {
  /** Default 1280 by 800. */
  width?: number;
  height?: number;
  theme?: 'light' | 'dark';
}

/** What a page did that no page of ours may do. */
export class Misdeeds {
  readonly found: string[] = [];

  /** @param origin the only address that it may ask. */
  watch(page: Page, origin: string): void {
    page.on('console', (message) => {
      if (message.type() === 'error' && !this.#isExpected(message.text())) {
        this.found.push(`console: ${message.text()}`);
      }
    });
    page.on('pageerror', (error) => this.found.push(`error: ${error.message}`));
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.origin !== origin && url.protocol !== 'blob:') this.found.push(`request: ${request.url()}`);
    });
    page.on('websocket', (socket) => {
      if (new URL(socket.url()).host !== new URL(origin).host) this.found.push(`socket: ${socket.url()}`);
    });
  }

  readonly #expected: RegExp[] = [];

  /** The browser itself writes a line for every answer that is not good and for every socket that breaks. */
  expect(pattern: RegExp): void {
    this.#expected.push(pattern);
  }

  #isExpected(text: string): boolean {
    return this.#expected.some((pattern) => pattern.test(text));
  }
}

/** A page of its own session, closed with the test. */
export async function openPage(
  t: ExecutionContext,
  browser: Browser,
  origin: string,
  { width = 1280, height = 800, theme = 'light' }: Look = {},
): Promise<{ page: Page; misdeeds: Misdeeds }> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    baseURL: origin,
  });
  t.teardown(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const misdeeds = new Misdeeds();
  misdeeds.watch(page, origin);
  return { page, misdeeds };
}
