import type { JSX } from 'preact';
import type { WireJob } from '../../../domain/wire/job.ts';
import type { Tone } from '../../components/badge.tsx';
import { beginning, dollars, shortId } from '../../components/text.ts';
import { Elapsed } from '../../components/time.tsx';

/** The title of a job: the first line of its prompt, or of its last message. */
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

/** `stuck` is displayed as a status. */
export function shownStatus({ status, stuck }: Pick<WireJob, 'status' | 'stuck'>): string {
  return stuck ? 'stuck' : status;
}

/** Tags shown in a row; the others are counted. */
const tagsShown = 2;

/** The first tags of a job, and how many more it has. */
export function Tags({ tags }: { tags: readonly string[] }): JSX.Element | null {
  if (tags.length === 0) return null;
  const more = tags.length - tagsShown;
  return (
    <span class="row-tags" title={tags.join(', ')}>
      {tags.slice(0, tagsShown).map((tag) => (
        <span key={tag} class="tag" dir="auto">
          {tag}
        </span>
      ))}
      {more > 0 ? <span class="faint">+{more}</span> : null}
    </span>
  );
}

/** Characters of a reason in a row; the page of the job shows all. */
const reasonMax = 300;

/** Why it failed, waits or is stuck, on one line. */
export function Reason({ job }: { job: WireJob }): JSX.Element | null {
  const reason = reasonOf(job);
  if (reason === null) return null;
  const text = beginning(reason.text.replaceAll(/\s+/g, ' ').trim(), reasonMax);
  return (
    <span class={`row-reason tone-${reason.tone}`} title={text} dir="auto">
      {text}
    </span>
  );
}

function reasonOf({ status, stuck, error, waiting }: WireJob): { text: string; tone: Tone } | null {
  if (status === 'failed' && error !== null) return { text: `${error.class}: ${error.message}`, tone: 'bad' };
  if (stuck) return { text: 'Its worker crashed or lost the connection', tone: 'warn' };
  return waiting === null ? null : { text: waiting.detail, tone: 'neutral' };
}

/** Where it ran, or the requested provider. */
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

/** How long it waited or ran. */
export function Duration({ job }: { job: WireJob }): JSX.Element {
  if (job.status === 'pending') return <Elapsed from={job.enqueued_at} to={null} />;
  return <Elapsed from={job.started_at} to={job.finished_at} />;
}

/** Its cost; no cost is not shown as zero. */
export function Cost({ job }: { job: Pick<WireJob, 'cost_usd' | 'cost_status'> }): JSX.Element {
  if (job.cost_status === 'none') return <span class="faint">–</span>;
  const text = dollars(job.cost_usd);
  return (
    <span class={job.cost_usd === null ? 'number faint' : 'number'}>
      {job.cost_status === 'partial' ? `${text} or more` : text}
    </span>
  );
}
