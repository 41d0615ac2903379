import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker';
import { Pool } from 'pg';
import { type OpenQueue, type Payload, queueName } from './queue.ts';

/** Connections of each process; the performance page of its documents uses one more than its 24 concurrent jobs. */
const connections = 25;
const silent = new Logger(() => () => {});

/**
 * graphile-worker as the performance page of its documents sets it up (worker.graphile.org/docs/performance, November
 * 2026): a local queue of 500 jobs fetched by one statement, done jobs deleted together without a delay. It keeps no
 * result: a job that is done is gone, and `job:complete` comes before the batch that deletes it is written.
 */
export const open: OpenQueue = async (url) => {
  const pgPool = new Pool({ connectionString: url, max: connections });
  // Connections break while the server is restarted or ends before its clients; the pool makes new ones.
  const print = (error: Error): void => void process.stderr.write(`${error.message}\n`);
  pgPool.on('error', print);
  pgPool.on('connect', (client) => client.on('error', print));
  const options = { pgPool, logger: silent };
  await runMigrations(options);
  const utils = await makeWorkerUtils(options);
  const job = (payload: Payload) => ({ identifier: queueName, payload });
  return {
    add: (payload) => utils.addJob(queueName, payload),
    addMany: (payloads) => utils.addJobs(payloads.map(job)),
    work: async (concurrency, { onStart, onDone }) => {
      const runner = await run({
        ...options,
        preset: {
          worker: {
            concurrentJobs: concurrency,
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
        noHandleSignals: true,
        taskList: { [queueName]: async (payload) => onStart((payload as Payload).request.input) },
      });
      runner.events.on('job:complete', onDone);
      return () => runner.stop();
    },
    settle: () => utils.withPgClient((client) => client.query('VACUUM ANALYZE')),
    close: async () => {
      await utils.release();
      await pgPool.end();
    },
  };
};
