import type { Config } from '../config/config.ts';
import type { CoordinatorError } from '../domain/errors.ts';
import type { Allowance } from '../lib/rateLimiter.ts';
import { challengeOf } from '../lib/upgrades.ts';
import { problemOf } from './problem.ts';
import type { ServedRoute } from './route.ts';

/** An error as a response. */
export interface ShownError {
  status: number;
  type: string;
  headers: Record<string, string>;
  text: string;
}

/**
 * An API in the form of another service, under a path of its own: its routes, and how it reports errors. Keys, rate
 * limits, shares, the memory for bodies and responses, metrics and the audit log apply there as everywhere.
 */
export interface Door {
  /** This path and all below it belong to the door: `/v1`. */
  path: string;
  routes: readonly ServedRoute[];
  /** A header in which its clients may send the key instead of `Authorization`. */
  keyHeader: string;
  /** Why the configuration closes it; null when it is open. */
  closed(config: Config): CoordinatorError | null;
  present(error: CoordinatorError, requestId: string): ShownError;
  /** Headers that tell a client how much of `http.rate_limit_per_key` it has left. */
  limited(allowance: Allowance): Record<string, string>;
  /** Headers of a response, not of a stream, that took so long. */
  timed(tookMs: number): Record<string, string>;
}

/** The door that a path belongs to; null for the native API. */
export function doorOf(doors: readonly Door[], path: string): Door | null {
  return doors.find((door) => path === door.path || path.startsWith(`${door.path}/`)) ?? null;
}

/** An error as the door reports it; as a problem document without one. */
export function shownError(door: Door | null, error: CoordinatorError, requestId: string): ShownError {
  const shown = door?.present(error, requestId) ?? problemDocument(error, requestId);
  const { retryAfterSeconds, allow } = error.details;
  const challenge = challengeOf(error);
  const headers: Record<string, string> = { ...shown.headers };
  if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(retryAfterSeconds);
  if (allow !== undefined) headers.Allow = allow.join(', ');
  if (challenge !== null) headers['WWW-Authenticate'] = challenge;
  return { ...shown, headers };
}

function problemDocument(error: CoordinatorError, requestId: string): ShownError {
  const problem = problemOf(error, requestId);
  return {
    status: problem.status,
    type: 'application/problem+json',
    headers: {},
    text: JSON.stringify(problem),
  };
}
