import type { ConfigFile } from '../config/file.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Clock, Random } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { Logger } from '../lib/log.ts';
import { version } from '../lib/version.ts';
import { ApiKeys } from './apiKeys.ts';
import { socketUrl } from './disconnection.ts';
import { type Settled, settle, settledChanges, type WorkerSources } from './layers.ts';
import type { Provider } from './provider.ts';
import { createProvider, missingAddress } from './providers/index.ts';
import type { ProviderSettings } from './providers/providerSettings.ts';
import { RemoteConfig, type RemoteFile } from './remoteConfig.ts';
import { RemoteWatch } from './remoteWatch.ts';
import { coordinatorDefault, SettingsError } from './settings.ts';
import { Worker } from './worker.ts';
import type { Offer } from './workerOptions.ts';

/** A new key is in use after this at the latest; checking a small file costs nothing. */
const keyFilesEveryMs = 5_000;

export interface ConfiguredOptions extends WorkerSources {
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Called with problems before there is a worker to report them. */
  warn: (message: string) => void;
}

/**
 * A worker with its settings: from flags, environment and file, and from the remote configuration, which it follows
 * while it runs. New keys, limits, tags and providers take effect at once; a new name or coordinator is reported to
 * need a restart.
 */
export class ConfiguredWorker {
  readonly worker: Worker;
  #options: ConfiguredOptions;
  readonly #keys: ApiKeys;
  readonly #watch: RemoteWatch | null;
  readonly #providers = new Map<string, Provider>();
  #settled: Settled;
  /** The remote configuration as last read. */
  #file: ConfigFile | null;
  /** Whether `#file` is applied; it is retried after a server could not be reached. */
  #isApplied = true;
  #restartTold = '';
  /** The problem of a key file when it was last read. */
  #keyFileProblem: string | null = null;
  /** Changes happen one after the other: from the remote configuration, and from key files. */
  #changing: Promise<void> = Promise.resolve();
  #takeBackKeyFiles: (() => void) | null = null;

  private constructor(options: ConfiguredOptions, keys: ApiKeys, remote: RemoteStart | null) {
    this.#options = options;
    this.#keys = keys;
    this.#file = remote?.file ?? null;
    this.#settled = settle(options, this.#file);
    const { name, coordinator } = this.#settled.settings;
    const { clock, random, logger, host } = options;
    this.worker = new Worker({
      name,
      coordinatorUrl: coordinator,
      apiKey: () => keys.take(),
      version,
      host,
      clock,
      random,
      logger,
      ...this.#offer(this.#settled),
    });
    this.#watch = remote === null ? null : this.#follow(remote);
    this.worker.on('unauthorized', () => this.#onRefused());
    this.worker.on('stopped', () => {
      this.#watch?.stop();
      this.#takeBackKeyFiles?.();
    });
  }

  /**
   * Read the remote configuration, if there is one, and create the worker. When it cannot be read, that is reported and
   * the worker continues with its own settings.
   * @throws SettingsError; TypeError when the coordinator's address is invalid.
   */
  static async create(options: ConfiguredOptions): Promise<ConfiguredWorker> {
    const { local, environment } = options;
    const keys = new ApiKeys([local.apiKey, local.config.worker.apiKey]);
    const remote =
      environment.configUrl === null ? null : await readFirst(environment.configUrl, keys, options);
    keys.setRemote(remote?.file?.worker?.api_key ?? null);
    return new ConfiguredWorker(options, keys, remote);
  }

  get concurrency(): number {
    return this.#settled.settings.concurrency;
  }

  /** Start the worker, and follow the remote configuration. @throws ProviderUnreachable. */
  async start(): Promise<void> {
    await this.worker.start();
    this.#warnOfModels();
    this.#watch?.start();
    this.#watchKeyFiles();
  }

  /**
   * Use a changed configuration of this machine: keys, providers, slots and tags take effect at once, and running jobs
   * continue. A new name or coordinator needs another worker.
   * @throws SettingsError, ProviderUnreachable; nothing has changed then.
   */
  async reload(local: LoadedConfig): Promise<void> {
    const before = this.#options;
    this.#options = { ...before, local };
    try {
      await this.#apply('the configuration has changed');
    } catch (error) {
      this.#options = before;
      throw error;
    }
    if (this.#keys.setOwn([local.apiKey, local.config.worker.apiKey])) this.worker.renewKey();
  }

  #follow({ config, trouble }: RemoteStart): RemoteWatch {
    return new RemoteWatch(
      {
        read: () => config.read(),
        clock: this.#options.clock,
        onRead: (read) => this.#onRead(read),
        onProblem: (message) => this.worker.notice('warn', message),
        onRecovered: () => this.worker.notice('info', 'the remote configuration can be read again'),
      },
      trouble,
    );
  }

  /**
   * 401 or 4401. A known key that is not refused yet is tried at once; the remote configuration may have a newer one by
   * now.
   */
  #onRefused(): void {
    if (this.#keys.refused()) {
      this.worker.notice('info', 'trying another key');
      this.worker.retryNow();
    }
    this.#watch?.check();
  }

  async #onRead(read: RemoteFile | null): Promise<void> {
    if (read !== null) {
      this.#file = read.file;
      this.#isApplied = false;
      for (const warning of read.warnings) this.worker.notice('warn', warning);
      if (this.#keys.setRemote(read.file.worker?.api_key ?? null)) {
        this.worker.notice('info', 'trying the key of the remote configuration');
        this.worker.retryNow();
      }
    }
    if (this.#isApplied) return;
    await this.#apply('changed by the remote configuration');
    this.#isApplied = true;
  }

  /** The key files are polled: a mounted secret changes without a signal. */
  #watchKeyFiles(): void {
    this.#takeBackKeyFiles?.();
    this.#takeBackKeyFiles = null;
    if (!this.#settled.hasKeyFiles) return;
    this.#takeBackKeyFiles = this.#options.clock.after(keyFilesEveryMs, () => {
      this.#readKeyFiles()
        .catch((error: unknown) => this.#reportKeyFileProblem(messageOf(error)))
        .finally(() => this.#watchKeyFiles());
    });
  }

  async #readKeyFiles(): Promise<void> {
    await this.#apply('reloaded with the new key in its file');
    this.#keyFileProblem = null;
  }

  #reportKeyFileProblem(trouble: string): void {
    if (trouble !== this.#keyFileProblem)
      this.worker.notice('warn', `${trouble}; the last key remains in use`);
    this.#keyFileProblem = trouble;
  }

  /** @param why for the log. @throws SettingsError, ProviderUnreachable; nothing has changed then. */
  #apply(why: string): Promise<void> {
    const applied = this.#changing.then(() => this.#applyNow(why));
    // The next change waits for this one, whatever its result.
    this.#changing = applied.catch(() => {});
    return applied;
  }

  async #applyNow(why: string): Promise<void> {
    const next = settle(this.#options, this.#file);
    const { live, restart } = settledChanges(this.#settled, next);
    if (live.length > 0) {
      await this.worker.reconfigure(this.#offer(next));
      this.worker.notice('info', `${why}: ${live.join(', ')}`);
      // Name and coordinator stay unchanged, so that they still differ.
      const { name, coordinator } = this.#settled.settings;
      this.#settled = { ...next, settings: { ...next.settings, name, coordinator } };
      this.#warnOfModels();
      if (this.#takeBackKeyFiles === null) this.#watchKeyFiles();
    }
    const waiting = restart.join(', ');
    if (waiting !== this.#restartTold && waiting !== '') {
      this.worker.notice('warn', `the remote configuration changes ${waiting}: that needs a restart`);
    }
    this.#restartTold = waiting;
  }

  #offer({ settings, providers: all, staleSeconds }: Settled): Offer {
    const providers = all.map((provider) => this.#provider(provider));
    return {
      kind: providers.every(({ kind }) => kind === 'local') ? 'local' : 'cloud',
      providers,
      concurrency: settings.concurrency,
      tags: settings.tags,
      staleSeconds,
    };
  }

  /** The same settings return the same adapter, with its open connections. */
  #provider(settings: ProviderSettings): Provider {
    const key = JSON.stringify(settings);
    const provider = this.#providers.get(key) ?? createProvider(settings);
    if (provider === null) {
      throw new SettingsError(missingAddress(settings.name));
    }
    this.#providers.set(key, provider);
    return provider;
  }

  /** Otherwise a misspelt model only shows when the first job fails. */
  #warnOfModels(): void {
    for (const { name, model } of this.#settled.providers) {
      const models = this.worker.models[name];
      if (model === null || models === undefined || models.includes(model)) continue;
      const has = models.length === 0 ? 'it has none' : `it has ${models.join(', ')}`;
      const message = `${name} does not report the configured model ${model} (${name}.model); ${has}. Jobs for it would fail: Model not found`;
      this.worker.notice('warn', message);
    }
  }
}

interface RemoteStart {
  config: RemoteConfig;
  /** null when it could not be read. */
  file: ConfigFile | null;
  trouble: string | null;
}

async function readFirst(url: URL, keys: ApiKeys, options: ConfiguredOptions): Promise<RemoteStart> {
  const { flags, environment, local, warn } = options;
  // Not from the remote configuration: it could direct the key anywhere.
  const coordinator =
    flags.coordinator ?? environment.coordinator ?? local.config.worker.coordinator ?? coordinatorDefault;
  const keyOrigin = socketUrl(coordinator).origin.replace(/^ws/, 'http');
  const config = new RemoteConfig({ url, apiKey: () => keys.best, keyOrigin });
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    warn(
      `the remote configuration comes over plain http from ${url.hostname}: anyone on the network path can change it`,
    );
  }
  try {
    const read = await config.read();
    for (const warning of read?.warnings ?? []) warn(warning);
    return { config, file: read?.file ?? null, trouble: null };
  } catch (error) {
    warn(messageOf(error));
    return { config, file: null, trouble: messageOf(error) };
  }
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
}
