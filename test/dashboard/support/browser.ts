import test from 'ava';
import { registerSharedWorker } from 'ava/plugin';
import { type Browser, chromium } from 'playwright-core';
import { type Site, startSite } from './site.ts';
import { hasChromium, Stage } from './stage.ts';

export { faultsOf, overflowOf, showStates } from './stage.ts';

const missing =
  'The pages were not tried: there is no Chromium here. Have it with apt-get install chromium, or name one in SVC_TEST_CHROMIUM.';

/** A connection to the Chromium that all test files of a run share; contexts of one file are not seen by another. */
export async function sharedChromium(): Promise<Browser> {
  const worker = registerSharedWorker<string>({
    filename: new URL('chromiumServer.ts', import.meta.url),
    supportedProtocols: ['ava-4'],
  });
  await worker.available;
  for await (const { data } of worker.publish('where').replies()) return chromium.connect(String(data));
  throw new Error('the shared Chromium has ended');
}

/**
 * Declare tests that look at pages. Without Chromium there is one in their place that says so, and fails where
 * `SVC_TEST_BROWSER` is `required`, as in .ci/run.
 * @param prepare makes what the tests look at, once.
 */
export function pageTests(
  options: { slots?: number; inspect?: 'page'; prepare?: (site: Site) => Promise<void> },
  declare: (stage: () => Stage) => void,
): void {
  if (!hasChromium) {
    test('the pages look and work as they should', (t) => {
      t.log(missing);
      if (process.env.SVC_TEST_BROWSER === 'required') t.fail(missing);
      else t.pass();
    });
    return;
  }
  let stage: Stage | null = null;
  test.before(async () => {
    const { slots = 0, inspect } = options;
    const site = await startSite({ slots, inspect });
    stage = new Stage(site, await sharedChromium());
    await options.prepare?.(site);
  });
  test.after.always(() => stage?.close());
  declare(() => {
    if (stage === null) throw new Error('the stage is set before the first test');
    return stage;
  });
}
