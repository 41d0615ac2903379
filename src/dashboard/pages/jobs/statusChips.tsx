import { type ReadonlySignal, useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { jobStatuses } from '../../../domain/states.ts';
import { Badge } from '../../components/badge.tsx';
import { compact } from '../../components/text.ts';
import { useStats } from '../../live/store.ts';
import { setQuery } from '../../router.ts';
import { api } from '../../session.ts';
import { askFor, isNarrowed, type ListFilters } from './filters.ts';

/** What makes the counts of a narrowed list old. Each rises with a change. */
export interface Changes {
  /** The reader has changed jobs: the counts are read at once. */
  made: ReadonlySignal<number>;
  /** Jobs that fit the filters have changed otherwise: the counts are read from time to time. */
  heard: ReadonlySignal<number>;
}

/** Between two readings for changes that are heard of, ms: each reading is five questions. */
const everyMs = 5_000;

/** A state each, with how many of the jobs that fit the other filters are in it. */
export function StatusChips(props: { filters: ListFilters; now: number; changes: Changes }): JSX.Element {
  const { filters, now, changes } = props;
  const stats = useStats();
  const isPlain = !isNarrowed(filters);
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

/** The counts by status of the jobs that fit the other filters. Without any the live figures have them. */
function useNarrowedCounts(
  filters: ListFilters,
  now: number,
  { made, heard }: Changes,
): ReadonlySignal<Record<string, string>> {
  const counts = useSignal<Record<string, string>>({});
  const isPlain = !isNarrowed(filters);
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
            // The list itself says what is wrong.
            () => {},
          );
      }
    };
    readAll();
    let seen = heard.peek();
    const timer = setInterval(() => {
      if (document.hidden || heard.peek() === seen) return;
      seen = heard.peek();
      readAll();
    }, everyMs);
    return () => {
      clearInterval(timer);
      read.abort();
    };
    // The text stands for the filters, the moment is that of the list.
  }, [others, isPlain, now, made.value, heard, counts]);
  return counts;
}
