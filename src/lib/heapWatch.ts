import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** Share of the limit that may be in use after a full collection: the rest is for short-lived objects. */
const keptShareMax = 0.85;

export interface HeapWatch {
  /** Whether the last full collection left enough free memory to keep more. */
  hasRoom(): boolean;
  close(): void;
}

/**
 * Watch the heap of this process. V8 aborts a process that exceeds its limit, and a restart on the same data would
 * abort too.
 * @param onChange called with false when memory becomes short, and with true when it recovers.
 * @param reservedBytes of the heap, for what is still outside of it.
 */
export function watchHeap(onChange: (hasRoom: boolean) => void, reservedBytes = () => 0): HeapWatch {
  let hasRoom = true;
  const limit = heapLimitBytes();
  const observer = new PerformanceObserver((list) => {
    if (!list.getEntries().some(isFullCollection)) return;
    const had = hasRoom;
    hasRoom = getHeapStatistics().used_heap_size + reservedBytes() < keptShareMax * limit;
    if (hasRoom !== had) onChange(hasRoom);
  });
  observer.observe({ entryTypes: ['gc'] });
  return { hasRoom: () => hasRoom, close: () => observer.disconnect() };
}

/** Entries of other kinds have another `detail`, or none. */
function isFullCollection(entry: object): boolean {
  const detail: unknown = 'detail' in entry ? entry.detail : null;
  const kind: unknown =
    typeof detail === 'object' && detail !== null && 'kind' in detail ? detail.kind : null;
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

/**
 * The memory for long-lived data. V8's own figure includes the young space: a small part by default, but most of a heap
 * that is configured small.
 */
export function heapLimitBytes(): number {
  const options = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  const toldMiB = Number(/--max[-_]old[-_]space[-_]size[= ](\d+)/.exec(options)?.[1] ?? 0);
  return toldMiB > 0 ? toldMiB * 1024 * 1024 : getHeapStatistics().heap_size_limit;
}
