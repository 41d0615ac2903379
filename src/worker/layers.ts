import { type Config, localProviders, type ProviderTimeouts, type WorkerSettings } from '../config/config.ts';
import { withDefaults } from '../config/defaults.ts';
import { variable } from '../config/environment.ts';
import type { ConfigFile } from '../config/file.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { WorkerEnvironment } from '../config/workerEnvironment.ts';
import { own as ownOf } from '../lib/own.ts';
import { keyInFile } from './keyFile.ts';
import { type AllowedVariables, checkRemoteVariable, providerKey } from './providerKeys.ts';
import type { Timeouts } from './providers/http/timeoutWatch.ts';
import { cloudPresets } from './providers/presets.ts';
import type { ProviderSettings } from './providers/providerSettings.ts';
import { type ResolvedSettings, resolveSettings, SettingsError } from './settings.ts';

/** All sources of settings except the remote configuration, which changes. */
export interface WorkerSources {
  flags: Partial<WorkerSettings>;
  environment: WorkerEnvironment;
  /** The file of this machine, and SVC_API_KEY. */
  local: LoadedConfig;
  /** For the keys of providers, which only their variables hold. */
  env: NodeJS.ProcessEnv;
  /** The default name of the worker. */
  host: string;
}

/** The resolved settings of the worker. */
export interface Settled {
  settings: ResolvedSettings;
  providers: ProviderSettings[];
  staleSeconds: number;
  /** Whether a provider has its key from a file, which may change. */
  hasKeyFiles: boolean;
}

/** The servers that SVC_LOCAL_MODEL_HOST may name. */
const localServers = localProviders.filter((name) => name !== 'echo');
const staleKey = 'jobs.reap_stale_after_seconds';

/**
 * Take each value from the first source that has it: flag, environment, local file, remote configuration, default.
 * @throws SettingsError when they do not describe a worker.
 */
export function settle(sources: WorkerSources, remoteFile: ConfigFile | null): Settled {
  const { flags, environment, local, host } = sources;
  const remote = remoteFile === null ? null : withDefaults(remoteFile, '/');
  const fromEnvironment = { apiKey: local.apiKey, coordinator: environment.coordinator };
  const layers = [flags, fromEnvironment, local.config.worker, remote?.worker ?? {}];
  const settings = resolveSettings(layers, host);
  const served = settings.providers.filter((name) => localServers.includes(name));
  if (environment.localModelHost !== null && served.length > 1) {
    throw new SettingsError(
      `SVC_LOCAL_MODEL_HOST names one server, and this worker serves ${served.join(' and ')}: set providers.<name>.base_url in place of it`,
    );
  }
  const allowed = { providers: settings.providers, named: environment.allowedVariables };
  const shared = remote === null ? null : { config: remote, allowed };
  const isStaleLocal = local.sources[staleKey] === 'file';
  return {
    settings,
    providers: settings.providers.map((name) => providerSettings(name, sources, shared)),
    hasKeyFiles: settings.providers.some((name) => local.config.providers[name]?.apiKeyFile !== undefined),
    staleSeconds: (isStaleLocal ? local.config : (remote ?? local.config)).jobs.reapStaleAfterSeconds,
  };
}

/**
 * The settings of one provider, from the same sources.
 * @throws SettingsError when its key is missing, its file cannot be read, or the remote configuration names a variable
 * that it may not.
 */
export function providerSettings(
  name: string,
  sources: Pick<WorkerSources, 'environment' | 'local' | 'env'>,
  remote: { config: Config; allowed: AllowedVariables } | null,
): ProviderSettings {
  const { environment, local, env } = sources;
  const own = local.config.providers[name];
  const shared = remote?.config.providers[name];
  const host = localServers.includes(name) ? environment.localModelHost : null;
  const baseUrl = host ?? own?.baseUrl ?? shared?.baseUrl ?? usualAddress(name, env);
  const headers = own?.headers ?? shared?.headers;
  const models = own?.models ?? shared?.models;
  // Never from the remote configuration: it could name any file of this machine.
  const keyFile = own?.apiKeyFile;
  const api = own?.api ?? shared?.api;
  const timeouts = own?.timeouts ?? shared?.timeouts;
  const ownVariable = own?.apiKeyEnv ?? null;
  const sharedVariable = ownVariable === null ? (shared?.apiKeyEnv ?? null) : null;
  if (remote !== null && sharedVariable !== null) checkRemoteVariable(name, sharedVariable, remote.allowed);
  return {
    name,
    baseUrl,
    model: own?.model ?? shared?.model ?? null,
    apiKey:
      keyFile === undefined
        ? providerKey(name, baseUrl, ownVariable ?? sharedVariable, env)
        : keyInFile(name, keyFile),
    ...(headers === undefined ? {} : { headers }),
    ...(models === undefined ? {} : { models }),
    ...(api === undefined ? {} : { api }),
    ...(timeouts === undefined ? {} : { timeouts: inMilliseconds(timeouts) }),
  };
}

/** The address of an account, from its usual variable; null: the provider's own. */
function usualAddress(name: string, env: NodeJS.ProcessEnv): string | null {
  const usual = ownOf(cloudPresets, name)?.baseUrlVariable;
  const address = usual === undefined ? null : variable(env, usual);
  if (address === null || URL.canParse(address)) return address;
  throw new SettingsError(`${usual} must be an address such as https://<resource>.openai.azure.com`);
}

function inMilliseconds({ connect, firstToken, idle, total }: ProviderTimeouts): Partial<Timeouts> {
  return {
    ...(connect === undefined ? {} : { connectMs: connect * 1000 }),
    ...(firstToken === undefined ? {} : { firstMs: firstToken * 1000 }),
    ...(idle === undefined ? {} : { idleMs: idle * 1000 }),
    ...(total === undefined ? {} : { totalMs: total * 1000 }),
  };
}

/** The differences that take effect while the worker runs, and those that need a restart; as keys of the file. */
export function settledChanges(from: Settled, to: Settled): { live: string[]; restart: string[] } {
  const differs = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);
  const of = (keys: readonly ('name' | 'coordinator' | 'concurrency' | 'tags' | 'providers')[]): string[] =>
    keys.filter((key) => differs(from.settings[key], to.settings[key])).map((key) => `worker.${key}`);
  const providers = to.providers
    .filter((provider) => {
      const before = from.providers.find(({ name }) => name === provider.name);
      return before !== undefined && differs(before, provider);
    })
    .map(({ name }) => `providers.${name}`);
  const stale = from.staleSeconds === to.staleSeconds ? [] : [staleKey];
  return {
    live: [...of(['concurrency', 'tags', 'providers']), ...providers, ...stale],
    restart: of(['name', 'coordinator']),
  };
}
