import { type ReadonlySignal, useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { jobStatuses } from '../../../domain/states.ts';
import { Badge } from '../../components/badge.tsx';
import { compact } from '../../components/text.ts';
import { useStats } from '../../live/store.ts';
import { setQuery } from '../../router.ts';
import { api } from '../../session.ts';
import { askFor, hasFilter, type ListFilters } from './filters.ts';

/** Signals that the counts of a filtered list are out of date. Each rises with a change. */
export interface CountChanges {
  /** The reader has changed jobs: the counts are reloaded at once. */
  made: ReadonlySignal<number>;
  /** Events have changed matching jobs: the counts are reloaded from time to time. */
  seen: ReadonlySignal<number>;
}

/** Between two reloads because of events, ms: each is five requests. */
const everyMs = 5_000;

/** The statuses, each with the number of jobs that match the other filters. */
export function StatusChips(props: {
  filters: ListFilters;
  now: number;
  changes: CountChanges;
}): JSX.Element {
  const { filters, now, changes } = props;
  const stats = useStats();
  const isPlain = !hasFilter(filters);
  const narrowed = useNarrowedCounts(filters, now, changes);
  const counts = useComputed(() => stats.value?.jobs.by_status);
  return (
    <fieldset class="status-chips">
      <legend class="visually-hidden">State</legend>
      {jobStatuses.map((status) => {
        const isOn = filters.status.includes(status);
        const live = counts.value?.[status];
        const text = isPlain ? (live === undefined ? undefined : compact(live)) : narrowed.value[status];
        const next = isOn ? filters.status.filter((one) => one !== status) : [...filters.status, status];
        return (
          <button
            key={status}
            type="button"
            class="chip"
            aria-pressed={isOn}
            onClick={() => setQuery({ status: next.join(',') })}
          >
            <Badge status={status} count={text} />
          </button>
        );
      })}
    </fieldset>
  );
}

/** The counts by status of jobs that match the other filters. Without filters, the live figures have them. */
function useNarrowedCounts(
  filters: ListFilters,
  now: number,
  { made, seen }: CountChanges,
): ReadonlySignal<Record<string, string>> {
  const counts = useSignal<Record<string, string>>({});
  const isPlain = !hasFilter(filters);
  const others = JSON.stringify({ ...filters, status: [] });
  useEffect(() => {
    counts.value = {};
  }, [others, counts]);
  useEffect(() => {
    if (isPlain) return;
    let read = new AbortController();
    const readAll = (): void => {
      read.abort();
      read = new AbortController();
      const { signal } = read;
      for (const status of jobStatuses) {
        api
          .peek()
          .jobs({ ...askFor({ ...filters, status: [] }, now), status, limit: 1 }, signal)
          .then(
            ({ total, total_capped: isCapped }) => {
              const text = `${compact(total)}${isCapped === true ? '+' : ''}`;
              if (!signal.aborted) counts.value = { ...counts.peek(), [status]: text };
            },
            // The list itself shows the error.
            () => {},
          );
      }
    };
    readAll();
    let countedAt = seen.peek();
    const timer = setInterval(() => {
      if (document.hidden || seen.peek() === countedAt) return;
      countedAt = seen.peek();
      readAll();
    }, everyMs);
    return () => {
      clearInterval(timer);
      read.abort();
    };
    // The text represents the filters, the time is that of the list.
  }, [others, isPlain, now, made.value, seen, counts]);
  return counts;
}
