import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** Share of the limit that may be in use after a full collection: the rest is for the work of the moment. */
const keptShareMax = 0.85;

export interface HeapWatch {
  /** Whether what the last full collection left in use leaves room for more to be kept. */
  hasRoom(): boolean;
  close(): void;
}

/**
 * Begin to watch this process. V8 ends a process that goes past its limit, and a start on the same data would go there too.
 * @param onChange told when there is no room any more, and when there is again.
 */
export function watchHeap(onChange: (hasRoom: boolean) => void): HeapWatch {
  let hasRoom = true;
  const limit = heapLimitBytes();
  const observer = new PerformanceObserver((list) => {
    if (!list.getEntries().some(isFullCollection)) return;
    const had = hasRoom;
    hasRoom = getHeapStatistics().used_heap_size < keptShareMax * limit;
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
 * What may be kept. V8's own figure has the young space in it too: little by default, and the most of a heap that was told to be
 * small.
 */
export function heapLimitBytes(): number {
  const options = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  const toldMiB = Number(/--max[-_]old[-_]space[-_]size[= ](\d+)/.exec(options)?.[1] ?? 0);
  return toldMiB > 0 ? toldMiB * 1024 * 1024 : getHeapStatistics().heap_size_limit;
}
