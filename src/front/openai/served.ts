import { type JobRecord, lastAttempt } from '../../domain/job.ts';
import { sumCosts, toDollars } from '../../domain/money.ts';
import { keptPrefix } from './request.ts';

/** Where a job ran, as a model that can be asked for again; null before it has run. */
export function servedModel({ life, request }: JobRecord): string | null {
  const attempt = lastAttempt(life);
  if (attempt === undefined) return null;
  const model = attempt.model ?? life.result?.model ?? request.model;
  return model === null ? attempt.provider : `${attempt.provider}/${model}`;
}

/** The metadata that the client gave. */
export function metadataOf({ request }: JobRecord): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.metadata).filter(([name]) => !name.startsWith(keptPrefix)),
  );
}

/** As OpenAI calls it. */
export function servedTier({ request: { tier, priority } }: JobRecord): string {
  if (tier === 'batch') return 'flex';
  return tier ?? (priority === 'high' ? 'priority' : 'default');
}

/** The headers of an answer that has all of a job. */
export function jobHeaders(job: JobRecord): Record<string, string> {
  const cost = toDollars(sumCosts(job.life.attempts.map((attempt) => attempt.cost)).nanoDollars);
  return { 'X-Svc-Job-Id': job.id, ...(cost === null ? {} : { 'X-Svc-Cost-Usd': String(cost) }) };
}
