/*
 * Opens the store in the folder it is given and makes and archives ended jobs for ever: it says `job <id>` of each that is
 * acknowledged and `left <count>` of each move. Numbers go on from the second argument.
 */
import { systemClock } from '../../src/lib/systemClock.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { creation, epoch, headStart } from './jobs.ts';

const [, , path, first] = process.argv;
if (path === undefined || first === undefined) throw new Error('usage: node archiver.ts <folder> <number>');
const store = createJsonStore({ path, clock: systemClock, headStart, checkpointBytes: 20_000 });
await store.open();
const dayMs = 86_400_000;
for (let n = Number(first); ; n += 10) {
  const ids = Array.from({ length: 10 }, (_, index) => `job-${n + index}`);
  // Two days in turn, so that a move writes to more than one file.
  const changes = ids.map((id, index) =>
    creation(id, {
      state: 'completed',
      life: { finishedAt: epoch + (index % 2) * dayMs },
      request: { prompt: id },
    }),
  );
  await store.commit(changes);
  process.stdout.write(ids.map((id) => `job ${id}\n`).join(''));
  const left = await store.archive({ endedBefore: 0, keep: 5, limit: 7 }, () => true);
  process.stdout.write(`left ${left}\n`);
}
