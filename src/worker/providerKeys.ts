import { variable } from '../config/environment.ts';
import { SettingsError } from './settings.ts';

/** Where the key of a provider usually stands, and whose it is. */
interface UsualKey {
  /** The first that is set counts. */
  variables: readonly string[];
  /** The host that the key is for; it is sent nowhere else by itself. */
  host: string;
}

/** https://platform.openai.com/docs/quickstart, https://docs.claude.com/en/api, https://ai.google.dev/gemini-api/docs/api-key */
const usualKeys: Readonly<Record<string, UsualKey>> = {
  openai: { variables: ['OPENAI_API_KEY'], host: 'api.openai.com' },
  anthropic: { variables: ['ANTHROPIC_API_KEY'], host: 'api.anthropic.com' },
  google: {
    variables: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    host: 'generativelanguage.googleapis.com',
  },
};

/**
 * The key of a provider: from the variable that the configuration names, else from its usual one, if the requests go to
 * the host that it is for.
 * @param baseUrl null: the provider's own.
 * @returns null when the provider can do without.
 * @throws SettingsError when the variable that is named is not set, a provider that needs a key has none, or the key is
 * none that a header can carry.
 */
export function providerKey(
  name: string,
  baseUrl: string | null,
  keyVariable: string | null,
  env: NodeJS.ProcessEnv,
): string | null {
  if (keyVariable !== null) {
    const key = keyIn(env, keyVariable);
    if (key !== null) return key;
    throw new SettingsError(
      `no key for ${name}: providers.${name}.api_key_env names ${keyVariable}, which is not set`,
    );
  }
  const usual = Object.hasOwn(usualKeys, name) ? usualKeys[name] : undefined;
  if (usual === undefined) return null;
  if (baseUrl !== null && new URL(baseUrl).hostname !== usual.host) return null;
  const key = usual.variables.map((each) => keyIn(env, each)).find((value) => value !== null);
  if (key !== undefined) return key;
  throw new SettingsError(
    `no key for ${name}: set ${usual.variables[0]}, or name another variable in providers.${name}.api_key_env`,
  );
}

/** A key without the end of the line that a file of secrets leaves behind it. */
function keyIn(env: NodeJS.ProcessEnv, name: string): string | null {
  const key = variable(env, name)?.trim() ?? '';
  if (key === '') return null;
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new SettingsError(`the key in ${name} must be made of printable ASCII characters without spaces`);
}
