import { effect } from '@preact/signals';
import type { WireLiveRun } from '../../domain/wire/run.ts';
import type { WireWorker } from '../../domain/wire/worker.ts';
import { notify } from '../components/toasts.tsx';
import { keyId } from '../session.ts';
import { notifies } from '../shell/preferences.ts';
import { feed } from './browserFeed.ts';

/** Switch notifications on, if the reader and the browser allow them, or off. */
export async function setNotifying(isWanted: boolean): Promise<void> {
  const isAllowed =
    isWanted && 'Notification' in window && (await Notification.requestPermission()) === 'granted';
  notifies.value = isAllowed;
  if (isWanted && !isAllowed) notify('This browser does not allow notifications of this page.');
}

/** Notify, while that is on, of ended runs of the reader's key and of lost workers. @returns a function that ends it. */
export function startNotifications(): () => void {
  return effect(() => {
    if (!notifies.value) return;
    const ends = [followRuns(), followWorkers()];
    return () => {
      for (const end of ends) end();
    };
  });
}

function followRuns(): () => void {
  return feed.listen('runs', {
    snapshot: () => {},
    event: ({ data }) => {
      const { id, name, status, created_by: by } = data as WireLiveRun;
      const isMine = by !== null && by.key_id === keyId.peek();
      if (isMine && status !== 'running' && status !== 'paused') show(id, `The run ${name} is ${status}.`);
    },
  });
}

function followWorkers(): () => void {
  let serving = new Set<string>();
  const isServing = ({ connected, status }: WireWorker): boolean => connected && status !== 'draining';
  return feed.listen('workers', {
    snapshot: (data) => {
      serving = new Set((data as WireWorker[]).filter(isServing).map(({ id }) => id));
    },
    event: ({ data }) => {
      const worker = data as WireWorker;
      const { id, name, connected } = worker;
      if (!connected && serving.has(id)) show(id, `The worker ${name} is lost.`);
      if (isServing(worker)) serving.add(id);
      else serving.delete(id);
    },
  });
}

function show(tag: string, body: string): void {
  // One of the same run or worker replaces the former.
  new Notification('SVC', { body: body.slice(0, 300), tag });
}
