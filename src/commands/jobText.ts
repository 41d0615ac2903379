import type { WireAttempt, WireJob } from '../domain/wire/job.ts';
import { phasesOf, waitedMs as waitedOf } from '../domain/wire/jobPhases.ts';
import { humanDuration } from '../lib/humanTime.ts';
import type { Colour } from '../lib/screen.ts';

/** A job in words, the same in every command. */

/** Enough of a UUIDv7 to distinguish jobs: its last 8 digits are random, its first ones are the time. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** `running (stuck)` where the worker is away. */
export function statusText({ status, stuck }: Pick<WireJob, 'status' | 'stuck'>): string {
  return stuck ? `${status} (stuck)` : status;
}

export function statusColour({ status, stuck }: Pick<WireJob, 'status' | 'stuck'>): Colour {
  if (status === 'completed') return 'green';
  if (status === 'failed') return 'red';
  if (status === 'pending' || stuck) return 'yellow';
  return status === 'running' ? 'blue' : 'dim';
}

/** The request in one line: the prompt, or the last message of the chat. */
export function promptText({ prompt, messages }: Pick<WireJob, 'prompt' | 'messages'>): string {
  if (prompt !== null) return prompt;
  const content = messages?.at(-1)?.content;
  return typeof content === 'string' ? content : '(messages)';
}

/** The provider and model of the last run, else the requested ones. */
export function ranBy(job: WireJob): { provider: string | null; model: string | null } {
  const last = job.attempts.at(-1);
  return { provider: last?.provider ?? job.provider, model: last?.model ?? job.model };
}

/** Milliseconds it waited, from its dispatch to its end or to now. */
export function waitedMs(job: WireJob, now: number): number {
  return waitedOf(phasesOf(job, now));
}

/** Milliseconds of the last attempt, or of the running one until now; null before the first. */
export function ranMs(job: WireJob, now: number): number | null {
  if (job.started_at === null || job.status === 'pending') return null;
  return (job.finished_at === null ? now : Date.parse(job.finished_at)) - Date.parse(job.started_at);
}

export function spanText(ms: number | null): string {
  return ms === null ? '-' : humanDuration(ms);
}

/** Dollars with significant digits. Unknown is `?`, never 0; `≥` where a part is unknown. */
export function costText({
  cost_usd: dollars,
  cost_status: status,
}: Pick<WireAttempt, 'cost_usd' | 'cost_status'>): string {
  if (status === 'none') return '-';
  if (status === 'unknown' || dollars === null) return '?';
  return `${status === 'partial' ? '≥' : ''}${dollarText(dollars)}`;
}

/** `$0`, `$0.000012`, `$1.50`: at least two digits that are not 0. */
export function dollarText(dollars: number): string {
  if (dollars === 0) return '$0';
  const digits = dollars >= 0.1 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(dollars)));
  return `$${dollars.toFixed(digits)}`;
}

/** Reported tokens of all attempts together. */
export function tokensOf(job: WireJob): { input: number; output: number } {
  let input = 0;
  let output = 0;
  for (const { usage } of job.attempts) {
    input += usage?.input_tokens ?? 0;
    output += usage?.output_tokens ?? 0;
  }
  return { input, output };
}

/** Why it waits, or where it runs: the end of a status line. */
export function nowText(job: WireJob, now: number): string {
  const { waiting } = job;
  if (job.status === 'pending') {
    if (waiting === null) return '';
    const place = waiting.position === null ? '' : ` (place ${waiting.position})`;
    const until = waiting.until === null ? '' : `, ${humanDuration(Date.parse(waiting.until) - now)} left`;
    return `${waiting.detail}${place}${until}`;
  }
  if (job.status === 'running') return `on ${job.worker_id ?? 'a worker'} for ${spanText(ranMs(job, now))}`;
  if (job.status === 'failed') return job.error?.message ?? '';
  const ran = ranMs(job, now);
  return ran === null ? '' : `after ${humanDuration(ran)}`;
}
