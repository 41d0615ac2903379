import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { hasEnded } from '../../../client/client.ts';
import { type JobProgress, type JobSnapshot, topicOfJob } from '../../../domain/liveProtocol.ts';
import type { WireJob } from '../../../domain/wire/job.ts';
import { useLoaded } from '../../components/resource.ts';
import { feed } from '../../live/browserFeed.ts';
import { api } from '../../session.ts';
import { type OutputSoFar, ofSnapshot, withChunk } from './liveOutput.ts';

/** The shortest interval between two renderings of the output, ms. */
const paceMs = 100;
/** The reason of a wait changes without an event; it is reloaded this often, ms. */
const waitingMs = 5_000;

export interface FollowedJob {
  job: WireJob | null;
  error: unknown;
  output: ReadonlySignal<OutputSoFar | null>;
  reload(): void;
}

/** A job, kept up to date, with the output of its running attempt. */
export function useJob(id: string): FollowedJob {
  const { loaded, reload } = useLoaded(id, () => api.peek().job(id));
  /** The job in its last event, in the form of lists. */
  const fromEvent = useSignal<WireJob | null>(null);
  const output = useSignal<OutputSoFar | null>(null);
  useEffect(() => {
    let text: OutputSoFar | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const paint = (): void => {
      timer = undefined;
      output.value = text;
    };
    const leave = feed.listen(topicOfJob(id), {
      snapshot: (data) => {
        const snapshot = data as JobSnapshot;
        fromEvent.value = snapshot.job;
        text = ofSnapshot(snapshot.output);
        paint();
        if (hasEnded(snapshot.job)) reload();
      },
      event: ({ type, data }) => {
        if (type === 'job.progress') {
          text = withChunk(text, data as JobProgress);
          timer ??= setTimeout(paint, paceMs);
          return;
        }
        const job = data as WireJob;
        fromEvent.value = job;
        // No event contains the result.
        if (hasEnded(job)) reload();
      },
    });
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [id, fromEvent, output, reload]);
  const { data, error } = loaded.value;
  const job = data === null ? null : newer(data, fromEvent.value);
  const isPending = job?.status === 'pending';
  useEffect(() => {
    if (!isPending) return;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, waitingMs);
    return () => clearInterval(timer);
  }, [isPending, reload]);
  return { job, error: data === null ? error : null, output, reload };
}

/** The newer of two versions. The request never changes, and lists shorten it; the answer has it whole. */
function newer(answer: WireJob, fromEvent: WireJob | null): WireJob {
  if (fromEvent === null || fromEvent.updated_at < answer.updated_at) return answer;
  if (fromEvent.updated_at === answer.updated_at && fromEvent.status === answer.status)
    return { ...fromEvent, ...answer };
  const { prompt, messages, tags, params, metadata } = answer;
  return { ...answer, ...fromEvent, prompt, messages, tags, params, metadata };
}
