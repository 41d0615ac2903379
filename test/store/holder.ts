/* Opens the store in the folder it is given and commits jobs for ever, saying the id of each that is acknowledged. */
import { systemClock } from '../../src/lib/systemClock.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { creation, headStart } from './jobs.ts';

const path = process.argv[2];
if (path === undefined) throw new Error('usage: node holder.ts <folder>');
const store = createJsonStore({ path, clock: systemClock, headStart, checkpointBytes: 20_000 });
await store.open();
for (let n = 0; ; n += 1) {
  await store.commit([creation(`job-${n}`)]);
  process.stdout.write(`job-${n}\n`);
}
