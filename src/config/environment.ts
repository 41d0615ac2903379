import type { Problem } from './problem.ts';

/** Fewer characters than this are no secret. The coordinator refuses shorter keys too. */
const apiKeyLengthMin = 16;

/** Read a variable; one that is set to nothing is not set. */
export function variable(env: NodeJS.ProcessEnv, name: string): string | null {
  const value = env[name];
  return value === undefined || value === '' ? null : value;
}

/** What is wrong with a key, as a sentence without the key itself; null when it can be used. */
export function apiKeyTrouble(key: string): string | null {
  if (key.length < apiKeyLengthMin)
    return `must have at least ${apiKeyLengthMin} characters, it has ${key.length}`;
  // It travels in an HTTP header.
  return /^[\x21-\x7e]+$/.test(key) ? null : 'must be made of printable ASCII characters without spaces';
}

/** SVC_API_KEY, and what is wrong with it. */
export function readApiKey(env: NodeJS.ProcessEnv): { apiKey: string | null; problems: Problem[] } {
  const apiKey = variable(env, 'SVC_API_KEY');
  const message = apiKey === null ? null : apiKeyTrouble(apiKey);
  if (message === null) return { apiKey, problems: [] };
  return { apiKey: null, problems: [{ source: 'SVC_API_KEY', line: null, path: '', message }] };
}
