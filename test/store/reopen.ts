/* For measure.ts: opens the store in the folder it is given in a fresh process and says how long that took. */
import { systemClock } from '../../src/lib/systemClock.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { headStart } from './jobs.ts';

const path = process.argv[2];
if (path === undefined) throw new Error('usage: node reopen.ts <folder>');
const store = createJsonStore({ path, clock: systemClock, headStart });
const start = performance.now();
await store.open();
const ms = performance.now() - start;
const { total } = await store.counts();
const megabytes = process.memoryUsage().rss / 1e6;
process.stdout.write(
  `open in a new process, ${total} jobs: ${ms.toFixed(0)} ms, then ${megabytes.toFixed(0)} MB\n`,
);
await store.close();
