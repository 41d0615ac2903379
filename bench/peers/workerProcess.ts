import { now, type Order, type Reply, setupVariable } from '../support/messages.ts';
import { openQueue } from './queues/queue.ts';
import { parsePeer } from './setup.ts';

/**
 * A peer's worker in a process of its own. It takes no job before the first order, and reports when as many as ordered
 * are done.
 */
const send = (reply: Reply): void => void process.send?.(reply);
const { kind, url, concurrency } = parsePeer(process.env[setupVariable] ?? '');
const queue = await openQueue(kind, url);

let done = 0;
let wanted = Number.POSITIVE_INFINITY;
let firstAt = 0;
const onDone = (): void => {
  done += 1;
  if (done === 1) firstAt = now();
  if (done === wanted) send({ type: 'worked', firstAt, lastAt: now(), jobs: done - 1 });
};

let isWorking = false;
process.on('message', (order: Order) => {
  if (order.type !== 'work') return;
  done = 0;
  wanted = order.jobs;
  send({ type: 'working' });
  if (isWorking) return;
  isWorking = true;
  void queue.work(concurrency, { onStart: () => {}, onDone });
});
process.on('disconnect', () => process.exit(0));
send({ type: 'ready', url });
