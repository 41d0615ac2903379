import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { storeConformance } from '../conformance/store.ts';
import { FailingFiles, systemError } from './failingFiles.ts';
import { emptyFolder } from './folders.ts';
import { headStart } from './jobs.ts';

storeConformance('JSON store', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  return {
    create: (clock) => createJsonStore({ path, clock, headStart, files }),
    breakWrites() {
      files.before = ({ name }) => {
        if (name === 'write') throw systemError('ENOSPC');
      };
    },
    mendWrites() {
      files.before = () => {};
    },
  };
});

storeConformance('JSON store with a checkpoint after every commit', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  return {
    create: (clock) => createJsonStore({ path, clock, headStart, files, checkpointBytes: 1 }),
    breakWrites() {
      files.before = ({ name }) => {
        if (name === 'write') throw systemError('ENOSPC');
      };
    },
    mendWrites() {
      files.before = () => {};
    },
  };
});
