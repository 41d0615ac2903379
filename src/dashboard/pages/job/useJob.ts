import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { hasEnded } from '../../../client/client.ts';
import { type JobProgress, type JobSnapshot, topicOfJob } from '../../../domain/liveProtocol.ts';
import type { WireJob } from '../../../domain/wire/job.ts';
import { useLoaded } from '../../components/resource.ts';
import { feed } from '../../live/browserFeed.ts';
import { api } from '../../session.ts';
import { type OutputText, ofSnapshot, withChunk } from './liveOutput.ts';

/** At most so often the output is drawn anew, ms. */
const paceMs = 100;
/** Why a job waits changes without an event of its own; it is asked for this often, ms. */
const waitingMs = 5_000;

export interface FollowedJob {
  job: WireJob | null;
  error: unknown;
  output: ReadonlySignal<OutputText | null>;
  reload(): void;
}

/** A job, kept up to date, with what its running attempt says. */
export function useJob(id: string): FollowedJob {
  const { loaded, reload } = useLoaded(id, () => api.peek().job(id));
  /** What lists show of it, as it was told last. */
  const heard = useSignal<WireJob | null>(null);
  const output = useSignal<OutputText | null>(null);
  useEffect(() => {
    let text: OutputText | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const paint = (): void => {
      timer = undefined;
      output.value = text;
    };
    const leave = feed.listen(topicOfJob(id), {
      snapshot: (data) => {
        const snapshot = data as JobSnapshot;
        heard.value = snapshot.job;
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
        heard.value = job;
        // The result is in no event.
        if (hasEnded(job)) reload();
      },
    });
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [id, heard, output, reload]);
  const { data, error } = loaded.value;
  const job = data === null ? null : newer(data, heard.value);
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

/** The newer of two tellings. What was asked for never changes, and lists cut it down; the answer has it whole. */
function newer(answer: WireJob, heard: WireJob | null): WireJob {
  if (heard === null || heard.updated_at < answer.updated_at) return answer;
  if (heard.updated_at === answer.updated_at && heard.status === answer.status)
    return { ...heard, ...answer };
  const { prompt, messages, tags, params, metadata } = answer;
  return { ...answer, ...heard, prompt, messages, tags, params, metadata };
}
