import { silent } from '../../../src/lib/log.ts';
import { systemClock, systemRandom } from '../../../src/lib/systemClock.ts';
import { createEcho } from '../../../src/worker/providers/echo.ts';
import { Worker } from '../../../src/worker/worker.ts';
import { type Site, siteKey } from './site.ts';

/**
 * A worker of ours that is connected, whose providers all echo, whatever they are called.
 * @returns `stop`: it gives back what runs and disconnects; `crash`: it is gone without a word.
 */
export async function connectWorker(
  site: Site,
  options: { name: string; providers: readonly string[]; concurrency?: number; tags?: readonly string[] },
): Promise<{ id: string; stop(): Promise<void>; crash(): Promise<void> }> {
  const { name, providers, concurrency = 2, tags = [] } = options;
  const worker = new Worker({
    name,
    coordinatorUrl: site.url,
    apiKey: () => siteKey,
    version: '0.0.0-test',
    host: 'test-host',
    kind: 'local',
    providers: providers.map((provider) => createEcho({ name: provider, model: `${provider}-small` })),
    concurrency,
    tags: [...tags],
    clock: systemClock,
    random: systemRandom(),
    logger: silent,
  });
  const { promise, resolve } = Promise.withResolvers<string>();
  worker.once('connected', ({ workerId }) => resolve(workerId));
  await worker.start();
  const stop = async (): Promise<void> => {
    await worker.drain(0);
  };
  site.beforeStop.push(stop);
  return { id: await promise, stop, crash: () => worker.stop() };
}
