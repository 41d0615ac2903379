import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useCallback, useEffect, useRef } from 'preact/hooks';
import { feed } from '../live/browserFeed.ts';

export interface Loaded<T> {
  /** The last answer; it stays while a newer one is on its way, and when that fails. null before the first. */
  data: T | null;
  /** Why the last try failed; null when it did not. */
  error: unknown;
  isLoading: boolean;
}

/**
 * What an answer of the API is shown from: asked when the page comes, and again when `key` changes. A later question
 * wins over an earlier one whose answer comes late; leaving the page aborts. What has failed is asked for again when the
 * live connection is back.
 * @param key all that `load` goes by.
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
