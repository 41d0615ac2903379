import { useEffect, useMemo } from 'preact/hooks';
import type { WireLiveRun, WireRun } from '../../../domain/wire/run.ts';
import { useLoaded } from '../../components/resource.ts';
import { feed } from '../../live/browserFeed.ts';
import { api } from '../../session.ts';
import { NewerRuns } from './newerRuns.ts';

export interface FollowedRun {
  run: WireRun | null;
  /** Why there is none. */
  error: unknown;
  reload(): void;
}

/** A run, kept up to date. @param name or its id. */
export function useRun(name: string): FollowedRun {
  const newer = useMemo(() => new NewerRuns(), [name]);
  const { loaded, reload } = useLoaded(name, async (signal) => {
    const answered = newer.begin();
    const run = await api.peek().run(name, { signal });
    answered();
    return run;
  });
  useEffect(() => {
    return feed.listen('runs', {
      // Events may have been lost, also before the first snapshot.
      snapshot: reload,
      event: ({ data }) => newer.add(data as WireLiveRun),
    });
  }, [newer, reload]);
  void newer.revision.value;
  const { data, error } = loaded.value;
  return { run: data === null ? null : newer.over(data), error: data === null ? error : null, reload };
}
