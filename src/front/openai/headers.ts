import type { Allowance } from '../../lib/rateLimiter.ts';

/** How much of `http.rate_limit_per_key` is left, in the names of OpenAI. */
export function rateLimitHeaders({ limit, remaining, fullInMs }: Allowance): Record<string, string> {
  return {
    'X-RateLimit-Limit-Requests': String(limit),
    'X-RateLimit-Remaining-Requests': String(remaining),
    'X-RateLimit-Reset-Requests': durationOf(fullInMs),
  };
}

/** How long the response took, in whole ms. */
export function processingHeader(tookMs: number): Record<string, string> {
  return { 'OpenAI-Processing-Ms': String(Math.round(tookMs)) };
}

/** A time as OpenAI writes it: `20ms`, `1s`, `1.5s`, `6m0s`, `1h0m0s`. Rounded up. */
export function durationOf(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1000) return `${whole}ms`;
  if (whole < 60_000) return `${whole / 1000}s`;
  const seconds = Math.ceil(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const rest = `${minutes % 60}m${seconds % 60}s`;
  return minutes < 60 ? rest : `${Math.floor(minutes / 60)}h${rest}`;
}
