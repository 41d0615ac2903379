import type { ExecutionContext } from 'ava';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { MemoryStore } from '../../src/store/memory/memoryStore.ts';
import { archiveConformance } from '../conformance/archive.ts';
import { auditConformance } from '../conformance/audit.ts';
import { type StorePlace, storeConformance } from '../conformance/store.ts';
import { FailingFiles, systemError } from './failingFiles.ts';
import { emptyFolder } from './folders.ts';
import { headStart } from './jobs.ts';
import { LogPlace, MemoryLog } from './memoryLog.ts';

const placeWith =
  (options: { checkpointBytes?: number }) =>
  async (t: ExecutionContext): Promise<StorePlace> => {
    const path = await emptyFolder(t);
    const files = new FailingFiles();
    return {
      create: (clock) => createJsonStore({ path, clock, headStart, files, ...options }),
      breakWrites() {
        files.before = ({ name }) => {
          if (name === 'write') throw systemError('ENOSPC');
        };
      },
      mendWrites() {
        files.before = () => {};
      },
    };
  };

/** The same suites over a log that is no folder: what a store promises is memory's part, whatever log it has. */
const placeInMemory = async (): Promise<StorePlace> => {
  const place = new LogPlace();
  let log = new MemoryLog(place);
  return {
    create: (clock) => {
      log = new MemoryLog(place);
      return new MemoryStore(log, { clock, headStart, auditKeptMs: () => 400 * 86_400_000 });
    },
    breakWrites() {
      log.outcome = 'refused';
    },
    mendWrites() {
      log.outcome = 'done';
    },
  };
};

storeConformance('store over a log in memory', placeInMemory);
archiveConformance('store over a log in memory', placeInMemory);
auditConformance('store over a log in memory', placeInMemory);

for (const [name, options] of [
  ['JSON store', {}],
  ['JSON store with a checkpoint after every commit', { checkpointBytes: 1 }],
] as const) {
  storeConformance(name, placeWith(options));
  archiveConformance(name, placeWith(options));
  auditConformance(name, placeWith(options));
}
