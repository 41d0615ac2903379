import { Queue as BullQueue, Worker } from 'bullmq';
import { type OpenQueue, output, type Payload, queueName } from './queue.ts';

/**
 * BullMQ as its guide sets it up (docs.bullmq.io, "Going to production" and "Concurrency", November 2026): one queue
 * with one connection that all additions share, so that ioredis sends them without waiting for each other, and one
 * worker with a concurrency. Jobs are added without a priority, which is its fast way (`LPUSH`, no sorted set), and
 * results are kept, which is its default.
 */
export const open: OpenQueue = async (url) => {
  const { hostname: host, port } = new URL(url);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new BullQueue<Payload>(queueName, { connection });
  await queue.waitUntilReady();
  const job = (payload: Payload) => ({ name: 'job', data: payload, opts: { jobId: payload.id } });
  return {
    add: (payload) => queue.add('job', payload, { jobId: payload.id }),
    addMany: (payloads) => queue.addBulk(payloads.map(job)),
    work: async (concurrency, { onStart, onDone }) => {
      const handle = async ({ data }: { data: Payload }) => {
        onStart(data.request.input);
        return output;
      };
      const worker = new Worker<Payload>(queueName, handle, { connection, concurrency });
      // Emitted when Redis has answered the script that moves the job and fetches the next one.
      worker.on('completed', onDone);
      worker.on('error', (error) => process.stderr.write(`${error.stack}\n`));
      await worker.waitUntilReady();
      return () => worker.close();
    },
    settle: async () => {},
    close: () => queue.close(),
  };
};
