import { assembleCore } from '../../src/assemble.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { WorkerLink } from '../../src/coordinator/fleet/workerSession.ts';
import { closeCodes } from '../../src/domain/workerProtocol.ts';
import { silent } from '../../src/lib/log.ts';
import { systemClock, systemRandom } from '../../src/lib/systemClock.ts';
import { promptOf, requestOf, served } from './jobs.ts';
import { type Seed, setupVariable } from './messages.ts';

/**
 * Fills a data folder through the coordinator itself, without HTTP: some ten times as fast, and what it leaves is
 * exactly what a coordinator leaves.
 */
const seed: Seed = JSON.parse(process.env[setupVariable] ?? '');
/** Jobs dispatched at once: they share a few commits. */
const chunk = 1_000;
const slots = 1_000;

const { config } = await loadConfig({
  env: process.env,
  cwd: process.cwd(),
  overrides: { dataDir: seed.dataDir },
});
const { store, coordinator } = assembleCore({
  config: () => config,
  clock: systemClock,
  random: systemRandom(),
  logger: silent,
  path: seed.dataDir,
});

let made = 0;
async function dispatch(provider: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= chunk) {
    const jobs = Array.from({ length: Math.min(chunk, left) }, () => {
      made += 1;
      return coordinator.dispatch(requestOf(provider, promptOf(`ticket ${made}`, seed.promptBytes)));
    });
    await Promise.all(jobs);
  }
}

/** Run `count` of the served provider's jobs on a worker inside this process. */
async function complete(count: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let ended = 0;
  const link: WorkerLink = {
    send: (frame) => {
      if (frame.type === 'ack') ended += 1;
      if (ended === count) resolve();
    },
    assign: (jobs) => {
      // It sends no heartbeats: that it takes jobs is its sign of life.
      connection.heard();
      for (const { job_id: jobId, lease, model } of jobs) {
        const output = promptOf('an echo', seed.promptBytes);
        const usage = {
          inputTokens: 64,
          outputTokens: 64,
          cachedInputTokens: 0,
          reasoningTokens: 0,
          totalTokens: 128,
        };
        const numbers = { usage, latencyMs: 1, firstTokenMs: 1 };
        const outcome = { type: 'complete' as const, output, finishReason: 'stop', model, ...numbers };
        void connection.conclude({ jobId, lease }, outcome);
      }
    },
    close: (code, reason) => reject(new Error(`the coordinator closed with ${code}: ${reason}`)),
  };
  const connection = coordinator.connect(link, { keyId: 'seed', name: null, bounds: null });
  const what = { kind: 'local' as const, providers: [served], models: {}, tags: [], concurrency: slots };
  await connection.hello({ name: 'seed', ...what, version: null, host: null, instance: null }, []);
  await promise;
  coordinator.disconnect(connection, closeCodes.goingAway);
}

await coordinator.start();
if (seed.completed > 0) {
  await dispatch(served, seed.completed);
  await complete(seed.completed);
}
const lanes = Object.entries(seed.pending);
const total = lanes.reduce((sum, [, count]) => sum + count, 0);
const share = total === 0 ? 0 : 1 - seed.afterCheckpoint / total;
for (const [provider, count] of lanes) await dispatch(provider, Math.round(count * share));
await store.checkpoint();
for (const [provider, count] of lanes) await dispatch(provider, count - Math.round(count * share));
await coordinator.close();
process.send?.({ type: 'ready', url: '' });
process.disconnect?.();
