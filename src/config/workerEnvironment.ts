import { variable } from './environment.ts';
import { ConfigError, type Problem } from './problem.ts';

/** A worker's settings from the environment, besides its key. null: not set. */
export interface WorkerEnvironment {
  /** SVC_COORDINATOR_URL, unchanged. */
  coordinator: string | null;
  /** SVC_CONFIG_URL: the remote configuration. */
  configUrl: URL | null;
  /** SVC_LOCAL_MODEL_HOST: scheme, host and port of the local-model server, unchanged. */
  localModelHost: string | null;
  /** SVC_WORKER_ALLOWED_ENV and --allow-env: variables that a remote configuration may name. */
  allowedVariables: readonly string[];
}

/** @param allowed variables of --allow-env. @throws ConfigError with every problem. */
export function readWorkerEnvironment(
  env: NodeJS.ProcessEnv,
  allowed: readonly string[] = [],
): WorkerEnvironment {
  const problems: Problem[] = [];
  const address = (name: string, example: string): string | null => {
    const value = variable(env, name);
    const message = value === null ? null : addressProblem(value, example);
    if (message === null) return value;
    problems.push({ source: name, line: null, path: '', message });
    return null;
  };
  const configUrl = address('SVC_CONFIG_URL', 'https://svc.example/api/worker-config');
  const localModelHost = address('SVC_LOCAL_MODEL_HOST', 'http://127.0.0.1:11434');
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    coordinator: variable(env, 'SVC_COORDINATOR_URL'),
    configUrl: configUrl === null ? null : new URL(configUrl),
    localModelHost,
    allowedVariables: [...allowed, ...(variable(env, 'SVC_WORKER_ALLOWED_ENV') ?? '').split(/[\s,]+/)].filter(
      Boolean,
    ),
  };
}

/** Never quotes the address: the part after its host may be a secret. */
function addressProblem(value: string, example: string): string | null {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return `must be an address such as ${example}`;
  return url.username === '' && url.password === '' ? null : 'must not contain a user name or a password';
}
