import type { ExecutionContext } from 'ava';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { archiveConformance } from '../conformance/archive.ts';
import { auditConformance } from '../conformance/audit.ts';
import { type StorePlace, storeConformance } from '../conformance/store.ts';
import { FailingFiles, systemError } from './failingFiles.ts';
import { emptyFolder } from './folders.ts';
import { headStart } from './jobs.ts';

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

for (const [name, options] of [
  ['JSON store', {}],
  ['JSON store with a checkpoint after every commit', { checkpointBytes: 1 }],
] as const) {
  storeConformance(name, placeWith(options));
  archiveConformance(name, placeWith(options));
  auditConformance(name, placeWith(options));
}
