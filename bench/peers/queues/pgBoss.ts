import { PgBoss } from 'pg-boss';
import { type OpenQueue, output, type Payload, queueName } from './queue.ts';

/** Connections of each process; its default is 10. With 64 requests at once 20 share the commits of PostgreSQL better. */
const connections = 20;

/**
 * pg-boss with what its documents (pgboss.io, "Workers", November 2026) offer for speed: LISTEN/NOTIFY so that a worker
 * does not wait for its next poll, jobs fetched in batches that go on while they come back full, and each job of a
 * batch settled with an output of its own. The bench's concurrency is the jobs of one batch in each of two pollers: a
 * batch is fetched by one statement and settled by one, so its jobs wait for each other. A job counts as done when its
 * handler has returned, up to one statement before pg-boss has written that; so drain and end to end flatter it by that.
 */
export const open: OpenQueue = async (url, isOwner) => {
  const boss = new PgBoss({
    connectionString: url,
    max: connections,
    useListenNotify: true,
    migrate: isOwner,
    supervise: isOwner,
    schedule: false,
  });
  boss.on('error', (error) => process.stderr.write(`${error.stack}\n`));
  await boss.start();
  if (isOwner) await boss.createQueue(queueName, { notify: true });
  return {
    add: (payload) => boss.send(queueName, payload, { id: payload.id }),
    addMany: (payloads) =>
      boss.insert(
        queueName,
        payloads.map((data) => ({ id: data.id, data })),
      ),
    work: async (concurrency, { onStart, onDone }) => {
      const options = {
        batchSize: Math.max(1, concurrency / pollers),
        localConcurrency: pollers,
        burstWhenBatchFull: true,
        perJobResults: true,
        pollingIntervalSeconds: 0.5,
        notifyPollingIntervalSeconds: 0.5,
      } as const;
      await boss.work<Payload>(queueName, options, async (jobs) => {
        for (const { data } of jobs) onStart(data.request.input);
        for (let index = 0; index < jobs.length; index++) onDone();
        return jobs.map(({ id }) => ({ id, status: 'completed' as const, output }));
      });
      return () => boss.offWork(queueName, { wait: true });
    },
    settle: () => boss.getDb().executeSql('VACUUM ANALYZE'),
    close: () => boss.stop({ graceful: true, timeout: 5_000 }),
  };
};

const pollers = 2;
