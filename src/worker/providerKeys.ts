import { variable } from '../config/environment.ts';
import { cloudPresets } from './providers/presets.ts';
import { SettingsError } from './settings.ts';

/** The usual variables of a provider's key, and its hosts. */
interface UsualKey {
  /** The first that is set counts. */
  variables: readonly string[];
  /** The hosts of the key, a leading dot for all subdomains; by default it is sent nowhere else. */
  hosts: readonly string[];
}

/** https://platform.openai.com/docs/quickstart, https://docs.claude.com/en/api, https://ai.google.dev/gemini-api/docs/api-key */
const usualKeys: Readonly<Record<string, UsualKey>> = {
  openai: { variables: ['OPENAI_API_KEY'], hosts: ['api.openai.com'] },
  anthropic: { variables: ['ANTHROPIC_API_KEY'], hosts: ['api.anthropic.com'] },
  google: {
    variables: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    hosts: ['generativelanguage.googleapis.com'],
  },
  ...Object.fromEntries(
    Object.entries(cloudPresets).map(([name, { keyVariables: variables, keyHosts: hosts }]) => [
      name,
      { variables, hosts },
    ]),
  ),
};

/** The key of a provider is missing, or not valid in a header. */
export class UnusableKey extends SettingsError {
  /** The variable of the key. */
  readonly variable: string;

  constructor(message: string, variable: string) {
    super(message);
    this.variable = variable;
  }
}

/**
 * The variable of a provider's key: the configured one, else its usual one if the requests go to the host of that key.
 * @param baseUrl null: the provider's own. @param named `api_key_env`. @returns null: none, no key is sent.
 */
export function keyVariableOf(name: string, baseUrl: string | null, named: string | null): string | null {
  return named ?? usualKeyOf(name, baseUrl)?.variables[0] ?? null;
}

/**
 * The key of a provider, from the variable of `keyVariableOf` or, for some, a second usual one.
 * @returns null when no key is sent.
 * @throws UnusableKey.
 */
export function providerKey(
  name: string,
  baseUrl: string | null,
  named: string | null,
  env: NodeJS.ProcessEnv,
): string | null {
  const variables = named === null ? (usualKeyOf(name, baseUrl)?.variables ?? []) : [named];
  const [first] = variables;
  if (first === undefined) return null;
  const key = variables.map((each) => keyIn(env, each)).find((value) => value !== null);
  if (key !== undefined) return key;
  const advice =
    named === null
      ? `set ${first}, or name another variable in providers.${name}.api_key_env`
      : `providers.${name}.api_key_env names ${named}, which is not set`;
  throw new UnusableKey(`no key for ${name}: ${advice}`, first);
}

/** The variables of a worker's environment that a remote configuration may name as `api_key_env`. */
export interface AllowedVariables {
  /** The providers of the worker. */
  providers: readonly string[];
  /** Set by the worker's owner: --allow-env, SVC_WORKER_ALLOWED_ENV. */
  named: readonly string[];
}

/**
 * Check a variable that a remote configuration names: its value is sent to an address that the same configuration may
 * set. Allowed are the variables set by the worker's owner and, for each provider of the worker, its usual ones and
 * those that begin with its name and end in `_API_KEY`; never the worker's own key.
 * @throws UnusableKey with advice.
 */
export function checkRemoteVariable(provider: string, variable: string, allowed: AllowedVariables): void {
  const isOwn = allowed.providers.some((name) => isVariableOf(name, variable));
  if (allowed.named.includes(variable) || (isOwn && !variable.startsWith('SVC_'))) return;
  throw new UnusableKey(
    `the remote configuration names ${variable} in providers.${provider}.api_key_env, and its value would be sent to an address that it chooses. If that is intended, start the worker with --allow-env ${variable} (or name it in SVC_WORKER_ALLOWED_ENV)`,
    variable,
  );
}

function isVariableOf(provider: string, variable: string): boolean {
  const usual = Object.hasOwn(usualKeys, provider) ? (usualKeys[provider]?.variables ?? []) : [];
  const prefix = provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
  return usual.includes(variable) || (variable.startsWith(`${prefix}_`) && variable.endsWith('_API_KEY'));
}

function usualKeyOf(name: string, baseUrl: string | null): UsualKey | null {
  const usual = Object.hasOwn(usualKeys, name) ? usualKeys[name] : undefined;
  if (usual === undefined) return null;
  if (baseUrl === null) return usual;
  const { hostname } = new URL(baseUrl);
  const isIts = usual.hosts.some((host) =>
    host.startsWith('.') ? hostname.endsWith(host) : hostname === host,
  );
  return isIts ? usual : null;
}

/** A key without the line end that files of secrets have. */
function keyIn(env: NodeJS.ProcessEnv, name: string): string | null {
  const key = variable(env, name)?.trim() ?? '';
  if (key === '') return null;
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UnusableKey(`the key in ${name} must be made of printable ASCII characters without spaces`, name);
}
