import type { AttemptOutcome } from '../../src/domain/job.ts';
import type { JobStatus } from '../../src/domain/states.ts';
import { promptOf, served } from '../support/jobs.ts';

/** A provider whose only worker is told 429 now and then. */
export const limited = 'limited';

/** Of a hundred jobs, how many are of each kind. */
const shares = { plain: 80, slow: 10, failing: 2, retried: 1, flaky: 1, cancelled: 3, limited: 3 };
export type Kind = keyof typeof shares;

/** Of all jobs: those that a worker completes at once. */
export const plainShare = shares.plain / 100;

const promptBytes = 300;
const kinds = (Object.keys(shares) as Kind[]).flatMap((kind) => Array<Kind>(shares[kind]).fill(kind));
/** Has no factor in common with 100: neighbours are of different kinds. */
const stride = 37;

/** The kind of the job with this number. */
export function kindOf(number: number): Kind {
  return kinds[(number * stride) % kinds.length] ?? 'plain';
}

/** What is sent for it; `numberOf` finds the number again. */
export function bodyOf(number: number): string {
  const kind = kindOf(number);
  return JSON.stringify({
    provider: kind === 'limited' ? limited : served,
    prompt: promptOf(`ticket ${number}`, promptBytes),
    tags: ['soak', kind],
    metadata: { number: String(number) },
    params: paramsOf(kind, number),
  });
}

export function numberOf({ metadata }: { metadata: Record<string, string> }): number {
  return Number(metadata.number);
}

function paramsOf(kind: Kind, number: number): Record<string, unknown> {
  if (kind === 'slow') return { echo_delay_ms: 500 + (number % 1_500) };
  if (kind === 'cancelled') return { echo_delay_ms: 2_000 };
  if (kind === 'failing' || kind === 'retried') return { echo_fail: 'invalid_request' };
  if (kind === 'flaky') return { echo_fail: 'server_error' };
  return {};
}

/** How a job of the kind may end. A cancel may come when the job is done already. */
export const endsOf: Record<Kind, readonly JobStatus[]> = {
  plain: ['completed'],
  slow: ['completed'],
  failing: ['failed'],
  retried: ['failed'],
  flaky: ['failed'],
  cancelled: ['cancelled', 'completed'],
  limited: ['completed'],
};

/** How an attempt of it may have ended before another one was made. */
export const againAfter: Record<Kind, readonly AttemptOutcome[]> = {
  plain: [],
  slow: [],
  failing: [],
  retried: ['failed'],
  flaky: ['failed'],
  cancelled: [],
  limited: ['rate_limited'],
};

/** … and every job, when its worker has gone: such a job is delivered again. */
export const redelivered: readonly AttemptOutcome[] = ['lost', 'reaped', 'released'];
