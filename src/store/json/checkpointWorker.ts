import { parentPort, workerData } from 'node:worker_threads';
import { type CheckpointPlan, makeCheckpoint } from './checkpoint.ts';
import { nodeFiles } from './files.ts';

/*
 * The thread that makes one checkpoint and ends; see `runInThread`. What it throws reaches the other side as an
 * `error` event.
 */
const plan: CheckpointPlan = workerData;
parentPort?.postMessage(await makeCheckpoint(nodeFiles, plan));
