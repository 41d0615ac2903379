import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { RunFilters } from '../../../client/runs.ts';
import type { RunStatus } from '../../../domain/states.ts';
import type { WireLiveRun, WireRun } from '../../../domain/wire/run.ts';
import { useLoaded } from '../../components/resource.ts';
import { feed } from '../../live/browserFeed.ts';
import { api } from '../../session.ts';
import { NewerRuns } from './newerRuns.ts';

/** The shortest interval between two requests because of events, ms. */
const againMs = 2_000;

export interface RunsPage {
  /** null before the first answer. */
  runs: WireRun[] | null;
  total: number;
  error: unknown;
  reload(): void;
}

/** One page of the list of runs, kept up to date: rows change in place, and a new run or status loads it again. */
export function useRuns(filters: RunFilters): RunsPage {
  const key = JSON.stringify(filters);
  const newer = useMemo(() => new NewerRuns(), [key]);
  const statuses = useRef(new Map<string, RunStatus>());
  const { loaded, reload } = useLoaded(key, async (signal) => {
    const answered = newer.begin();
    const page = await api.peek().runs(filters, { signal });
    answered();
    for (const { id, status } of page.runs) statuses.current.set(id, status);
    return page;
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = feed.listen('runs', {
      // Events may have been lost, also before the first snapshot.
      snapshot: reload,
      event: ({ data }) => {
        const run = data as WireLiveRun;
        newer.add(run);
        if (statuses.current.get(run.id) === run.status) return;
        statuses.current.set(run.id, run.status);
        timer ??= setTimeout(() => {
          timer = undefined;
          reload();
        }, againMs);
      },
    });
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [newer, reload]);
  void newer.revision.value;
  const { data, error } = loaded.value;
  return { runs: data?.runs.map((run) => newer.over(run)) ?? null, total: data?.total ?? 0, error, reload };
}
