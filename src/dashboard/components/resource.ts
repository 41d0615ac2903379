import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useCallback, useEffect, useRef } from 'preact/hooks';
import { feed } from '../live/browserFeed.ts';

export interface Loaded<T> {
  /** The last answer; it remains while a newer one is loading, and when that fails. null before the first. */
  data: T | null;
  /** Why the last request failed; null when it did not. */
  error: unknown;
  isLoading: boolean;
}

/**
 * Loads an answer of the API: when the page opens, and again when `key` changes. A later request wins over an earlier
 * one with a late answer; leaving the page aborts. A failed request is repeated when the live connection is back.
 * @param key everything that `load` depends on.
 */
export function useLoaded<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
): { loaded: ReadonlySignal<Loaded<T>>; reload(): void } {
  const loaded = useSignal<Loaded<T>>({ data: null, error: null, isLoading: true });
  const last = useRef<AbortController | null>(null);
  const loadRef = useRef(load);
  loadRef.current = load;
  const run = useCallback(
    (keepsData: boolean) => {
      last.current?.abort();
      const ours = new AbortController();
      last.current = ours;
      loaded.value = { ...loaded.peek(), ...(keepsData ? {} : { data: null }), error: null, isLoading: true };
      loadRef.current(ours.signal).then(
        (data) => {
          if (!ours.signal.aborted) loaded.value = { data, error: null, isLoading: false };
        },
        (error: unknown) => {
          if (!ours.signal.aborted) loaded.value = { ...loaded.peek(), error, isLoading: false };
        },
      );
    },
    [loaded],
  );
  useEffect(() => {
    run(false);
    return () => last.current?.abort();
  }, [key, run]);
  useEffect(
    () =>
      feed.connection.subscribe(({ phase }) => {
        if (phase === 'live' && loaded.peek().error !== null) run(true);
      }),
    [loaded, run],
  );
  return { loaded, reload: useCallback(() => run(true), [run]) };
}
