/* The thread that makes one checkpoint and ends; see `runInThread`. What it throws reaches the other side as an `error`
   event. It may be stopped at any step, as by a crash: see `checkpoint.ts`. */

import { constants, getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { nodeFiles } from '../files.ts';
import { type CheckpointPlan, makeCheckpoint } from './checkpoint.ts';

// On Linux a priority belongs to the thread: the event loop goes first where processors are scarce. Elsewhere it would
// change the whole process.
if (process.platform === 'linux')
  setPriority(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL));
const plan: CheckpointPlan = workerData;
parentPort?.postMessage(await makeCheckpoint(nodeFiles, plan));
