import type { JobView } from '../../coordinator/coordinator.ts';
import type { Failure } from '../../domain/failure.ts';
import type { WireJob } from '../../domain/wire/job.ts';
import { failureShape, jobStatusShape, timeShape } from '../../http/shape/common.ts';
import { count, list, nullable, number, object, type Shape, text } from '../../http/shape/shape.ts';
import { cutText } from '../../lib/cutText.ts';
import { presentListed } from '../../present/job.ts';

/** Characters of a prompt that say which job it is. */
const promptMax = 200;
/** Labels of a job that are listed. */
const tagsMax = 20;

/** Why a pending job has not started. */
export interface ToolWaiting {
  reason: string;
  detail: string;
  until: string | null;
  position: number | null;
}

/** A job as tools return it: what an agent decides by, in some 1 KB. */
export interface ToolJob
  extends Pick<WireJob, 'id' | 'status' | 'provider' | 'model' | 'priority' | 'tier' | 'tags'>,
    Pick<WireJob, 'created_at' | 'started_at' | 'finished_at' | 'attempt_count' | 'cost_usd'> {
  /** The name of its run. */
  run: string | null;
  /** The first characters of its prompt, or of its last message. */
  prompt: string;
  waiting: ToolWaiting | null;
  error: Failure | null;
}

export const waitingShape: Shape<ToolWaiting> = object<ToolWaiting>({
  reason: text('`no_worker`, `workers_busy`, `provider_limited`, `queue_paused` and so on.'),
  detail: text('What would end the wait.'),
  until: nullable(timeShape),
  position: nullable(count(), 'Place in the queue, from 1.'),
});

export const toolJobShape: Shape<ToolJob> = object<ToolJob>({
  id: text(),
  status: jobStatusShape,
  provider: nullable(text()),
  model: nullable(text()),
  priority: text(),
  tier: nullable(text()),
  tags: list(text(), `At most ${tagsMax} of them.`),
  run: nullable(text()),
  prompt: text(`Its first ${promptMax} characters.`),
  created_at: timeShape,
  started_at: nullable(timeShape),
  finished_at: nullable(timeShape),
  attempt_count: count(),
  cost_usd: nullable(number(), 'null while it is not known.'),
  waiting: nullable(waitingShape, 'Why a pending job has not started; null for others.'),
  error: nullable(failureShape, 'Why a failed job failed; null for others.'),
});

export function presentToolJob(view: JobView): ToolJob {
  const job = presentListed(view);
  return {
    id: job.id,
    status: job.status,
    provider: job.provider,
    model: job.model,
    priority: job.priority,
    tier: job.tier,
    tags: job.tags.slice(0, tagsMax),
    run: job.run?.name ?? null,
    prompt: cutText(job.prompt ?? lastMessage(job), promptMax),
    created_at: job.created_at,
    started_at: job.started_at,
    finished_at: job.finished_at,
    attempt_count: job.attempt_count,
    cost_usd: job.cost_usd,
    waiting: job.waiting,
    error: job.error,
  };
}

function lastMessage({ messages }: WireJob): string {
  const content = messages?.at(-1)?.content;
  return typeof content === 'string' ? content : '';
}

/** The state of a job in a sentence, without a word that others wrote. */
export function sentenceOf({ id, status, waiting }: Pick<ToolJob, 'id' | 'status' | 'waiting'>): string {
  const why = waiting === null ? '' : ` (${waiting.reason})`;
  return `Job ${id} is ${status}${why}.`;
}
