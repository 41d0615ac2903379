import { nearest } from '../lib/nearest.ts';
import type { Problem } from './problem.ts';

/** Every variable that the coordinator, the worker or a command reads. */
export const variableNames: readonly string[] = [
  'SVC_API_KEY',
  'SVC_CONFIG',
  'SVC_CONFIG_URL',
  'SVC_COORDINATOR_URL',
  'SVC_DATA_DIR',
  'SVC_HOST',
  'SVC_LOCAL_MODEL_HOST',
  'SVC_LOG_LEVEL',
  'SVC_PORT',
  'SVC_WORKER_ALLOWED_ENV',
];

/** A shorter text is not a secret. The coordinator refuses shorter keys too. */
const apiKeyLengthMin = 16;

/** Read a variable; an empty one is not set. */
export function variable(env: NodeJS.ProcessEnv, name: string): string | null {
  const value = env[name];
  return value === undefined || value === '' ? null : value;
}

/**
 * A line for each variable that is probably a misspelt one of ours. Other similar names are ignored: Kubernetes sets
 * SVC_SERVICE_HOST and more for a service called svc.
 */
export function misspeltVariables(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env).flatMap((name) => {
    const near = /^svc_/i.test(name) && !variableNames.includes(name) ? nearest(name, variableNames) : null;
    return near === null ? [] : [`${name}: is not read; did you mean ${near}?`];
  });
}

/** What is wrong with a key, as a sentence without the key itself; null when it is valid. */
export function apiKeyProblem(key: string): string | null {
  if (key.length < apiKeyLengthMin)
    return `must have at least ${apiKeyLengthMin} characters, it has ${key.length}`;
  // It is sent in an HTTP header.
  return /^[\x21-\x7e]+$/.test(key) ? null : 'must be made of printable ASCII characters without spaces';
}

/** SVC_API_KEY, and what is wrong with it. */
export function readApiKey(env: NodeJS.ProcessEnv): { apiKey: string | null; problems: Problem[] } {
  const apiKey = variable(env, 'SVC_API_KEY');
  const message = apiKey === null ? null : apiKeyProblem(apiKey);
  if (message === null) return { apiKey, problems: [] };
  return { apiKey: null, problems: [{ source: 'SVC_API_KEY', line: null, path: '', message }] };
}
