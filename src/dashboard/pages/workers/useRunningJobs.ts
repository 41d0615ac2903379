import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { WireJob } from '../../../domain/wire/job.ts';
import { feed } from '../../live/browserFeed.ts';
import { api } from '../../session.ts';
import { merged, withJob } from './runningJobs.ts';

/** A worker with more slots than this shows the newest; the API's largest page. */
const listMax = 1000;
/** The shortest interval between two renderings, ms. */
const paceMs = 250;

/** The running jobs of a worker, kept up to date; null before they are loaded. */
export function useRunningJobs(workerId: string): {
  jobs: ReadonlySignal<readonly WireJob[] | null>;
  error: ReadonlySignal<unknown>;
} {
  const jobs = useSignal<readonly WireJob[] | null>(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    let state: readonly WireJob[] | null = null;
    /** Events while the list is loading. */
    let early: WireJob[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let turn = 0;
    const show = (): void => {
      timer = undefined;
      jobs.value = state;
    };
    const read = async (): Promise<void> => {
      turn += 1;
      const ours = turn;
      try {
        const list = await api.peek().jobs({ status: 'running', worker: workerId, limit: listMax });
        if (ours !== turn) return;
        state = merged(list.jobs, early, workerId);
        early = [];
        error.value = null;
        show();
      } catch (reason) {
        if (ours === turn) error.value = reason;
      }
    };
    const leave = feed.listen('jobs', {
      snapshot: () => {
        state = null;
        void read();
      },
      event: ({ data }) => {
        const job = data as WireJob;
        if (state === null) {
          if (job.worker_id === workerId || early.some(({ id }) => id === job.id)) early.push(job);
          return;
        }
        const next = withJob(state, job, workerId);
        if (next === state) return;
        state = next;
        timer ??= setTimeout(show, paceMs);
      },
    });
    return () => {
      turn += 1;
      clearTimeout(timer);
      leave();
    };
  }, [workerId, jobs, error]);
  return { jobs, error };
}
