import type { JSX } from 'preact';
import type { WireJob } from '../../../domain/wire/job.ts';
import { beginning, dollars, shortId } from '../../components/text.ts';
import { Elapsed } from '../../components/time.tsx';

/** The words of a job that tell it from others: the first line of its prompt, or what its last message says. */
export function jobTitle(job: Pick<WireJob, 'id' | 'prompt' | 'messages'>): string {
  const { prompt, messages, id } = job;
  const last = messages?.at(-1)?.content;
  const text = prompt ?? (typeof last === 'string' ? last : '');
  const line = text
    .split('\n')
    .map((part) => part.trim())
    .find((part) => part !== '');
  return line === undefined ? shortId(id) : beginning(line, 300);
}

/** `stuck` is a state of its own for whoever looks. */
export function shownStatus({ status, stuck }: Pick<WireJob, 'status' | 'stuck'>): string {
  return stuck ? 'stuck' : status;
}

/** Who runs it or was asked to. */
export function Where({ job }: { job: WireJob }): JSX.Element {
  const last = job.attempts.at(-1);
  const provider = last?.provider ?? job.provider ?? 'by routing';
  const model = last?.model ?? job.model;
  return (
    <span class="where">
      {provider}
      {model === null ? null : <span class="faint"> {model}</span>}
    </span>
  );
}

/** How long it waits, runs or ran. */
export function Duration({ job }: { job: WireJob }): JSX.Element {
  if (job.status === 'pending') return <Elapsed from={job.enqueued_at} to={null} />;
  return <Elapsed from={job.started_at} to={job.finished_at} />;
}

/** What it cost; nothing is not shown as zero. */
export function Cost({ job }: { job: Pick<WireJob, 'cost_usd' | 'cost_status'> }): JSX.Element {
  if (job.cost_status === 'none') return <span class="faint">–</span>;
  const text = dollars(job.cost_usd);
  return (
    <span class={job.cost_usd === null ? 'number faint' : 'number'}>
      {job.cost_status === 'partial' ? `${text} or more` : text}
    </span>
  );
}
