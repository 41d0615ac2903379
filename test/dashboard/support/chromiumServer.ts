import type { SharedWorker } from 'ava/plugin';
import { type BrowserServer, chromium } from 'playwright-core';
import { executablePath, flags } from './chromium.ts';

/** One Chromium for all test files of a run: a launch costs 2 to 3 s of processor time. It ends with the run. */
export default async function serveChromium({
  negotiateProtocol,
}: SharedWorker.FactoryOptions): Promise<void> {
  const protocol = negotiateProtocol(['ava-4']).ready();
  let launched: Promise<BrowserServer> | null = null;
  for await (const message of protocol.subscribe()) {
    launched ??= chromium.launchServer({ executablePath: executablePath ?? '', args: flags, headless: true });
    message.reply((await launched).wsEndpoint());
  }
}
