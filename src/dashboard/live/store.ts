import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Topic } from '../../domain/liveProtocol.ts';
import type { WireProvider } from '../../domain/wire/provider.ts';
import type { WireQueue } from '../../domain/wire/queue.ts';
import type { WireLiveRun } from '../../domain/wire/run.ts';
import type { WireStats } from '../../domain/wire/stats.ts';
import type { WireWorker } from '../../domain/wire/worker.ts';
import { feed } from './browserFeed.ts';
import type { LiveFrameEvent } from './feed.ts';

/** The shortest interval between two updates of the page, ms: more would not be visible. */
const paceMs = 250;

/** A state kept up to date by the coordinator; null until its first snapshot. */
interface LiveStore<T> {
  value: ReadonlySignal<T | null>;
  /** Keep it up to date while it is needed. @returns a function that ends it. */
  follow(): () => void;
}

/** @param change applies an event to the state. */
function liveStore<T>(
  topic: Topic,
  ofSnapshot: (data: unknown) => T,
  change: (state: T, event: LiveFrameEvent) => T,
): LiveStore<T> {
  const shown = signal<T | null>(null);
  let state: T | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let followers = 0;
  let leave = (): void => {};
  const show = (): void => {
    timer = null;
    shown.value = state;
  };
  const join = (): void => {
    leave = feed.listen(topic, {
      snapshot: (data) => {
        state = ofSnapshot(data);
        if (timer !== null) clearTimeout(timer);
        show();
      },
      event: (event) => {
        if (state === null) return;
        state = change(state, event);
        timer ??= setTimeout(show, paceMs);
      },
    });
  };
  return {
    value: shown,
    follow: () => {
      followers += 1;
      if (followers === 1) join();
      return () => {
        followers -= 1;
        if (followers === 0) leave();
      };
    },
  };
}

/** The coordinator's snapshots and events have the types of docs/live-events.md. */
const statsStore = liveStore<WireStats>(
  'stats',
  (data) => data as WireStats,
  (_, { data }) => data as WireStats,
);

const workerStore = liveStore<ReadonlyMap<string, WireWorker>>(
  'workers',
  (data) => new Map((data as WireWorker[]).map((worker) => [worker.id, worker])),
  (workers, { type, data }) => {
    const worker = data as WireWorker;
    const changed = new Map(workers);
    if (type === 'worker.forgotten') changed.delete(worker.id);
    else changed.set(worker.id, worker);
    return changed;
  },
);

const providerStore = liveStore<ReadonlyMap<string, WireProvider>>(
  'providers',
  (data) => new Map((data as WireProvider[]).map((provider) => [provider.name, provider])),
  (providers, { data }) => {
    const provider = data as WireProvider;
    return new Map(providers).set(provider.name, provider);
  },
);

const runStore = liveStore<ReadonlyMap<string, WireLiveRun>>(
  'runs',
  (data) => new Map((data as WireLiveRun[]).map((run) => [run.id, run])),
  (runs, { data }) => {
    const run = data as WireLiveRun;
    const changed = new Map(runs);
    if (run.status === 'running' || run.status === 'paused') changed.set(run.id, run);
    else changed.delete(run.id);
    return changed;
  },
);

const queueStore = liveStore<WireQueue>(
  'queue',
  (data) => data as WireQueue,
  (_, { data }) => data as WireQueue,
);

function useStore<T>(store: LiveStore<T>): ReadonlySignal<T | null> {
  useEffect(() => store.follow(), [store]);
  return store.value;
}

/** The figures of the coordinator, updated once a second. */
export const useStats = (): ReadonlySignal<WireStats | null> => useStore(statsStore);
/** Whether the queue is paused. */
export const useQueue = (): ReadonlySignal<WireQueue | null> => useStore(queueStore);
/** The runs that are running or paused, by their ids. */
export const useOpenRuns = (): ReadonlySignal<ReadonlyMap<string, WireLiveRun> | null> => useStore(runStore);
/** Every worker by its id. */
export const useWorkers = (): ReadonlySignal<ReadonlyMap<string, WireWorker> | null> => useStore(workerStore);
/** Every provider by its name. */
export const useProviders = (): ReadonlySignal<ReadonlyMap<string, WireProvider> | null> =>
  useStore(providerStore);
