import type { ConfigFile } from '../config/file.ts';
import type { Clock, Random } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { Logger } from '../lib/log.ts';
import { version } from '../lib/version.ts';
import { ApiKeys } from './apiKeys.ts';
import { type Settled, settle, settledChanges, type WorkerSources } from './layers.ts';
import type { Provider } from './provider.ts';
import { createProvider, missingAddress } from './providers/index.ts';
import type { ProviderSettings } from './providers/providerSettings.ts';
import { RemoteConfig, type RemoteFile } from './remoteConfig.ts';
import { RemoteWatch } from './remoteWatch.ts';
import { coordinatorDefault, SettingsError } from './settings.ts';
import { socketUrl } from './trouble.ts';
import { type Offer, Worker } from './worker.ts';

/** A new key is in use after this at the latest; a look at a small file costs nothing. */
const keyFilesEveryMs = 5_000;

export interface ConfiguredOptions extends WorkerSources {
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Told what is wrong before there is a worker to say it. */
  warn: (message: string) => void;
}

/**
 * A worker with its settings: from flags, environment and file, and from the remote configuration, which it follows
 * while it runs. A new key, other limits, tags and providers take effect at once; another name or coordinator is said
 * to need a restart.
 */
export class ConfiguredWorker {
  readonly worker: Worker;
  readonly #options: ConfiguredOptions;
  readonly #keys: ApiKeys;
  readonly #watch: RemoteWatch | null;
  readonly #providers = new Map<string, Provider>();
  #settled: Settled;
  /** The remote configuration as it was last read. */
  #file: ConfigFile | null;
  /** Whether `#file` is in force; a server that could not be reached is tried again. */
  #isApplied = true;
  #restartTold = '';
  /** What was wrong with a file of a key when it was read last. */
  #keyFileTrouble: string | null = null;
  /** Changes come one after the other: from the remote configuration, and from files of keys. */
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
   * Read the remote configuration, if there is one, and make the worker. When it cannot be read that is said, and the
   * worker goes on with what it has.
   * @throws SettingsError; TypeError when the coordinator's address is none.
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

  #follow({ config, trouble }: RemoteStart): RemoteWatch {
    return new RemoteWatch(
      {
        read: () => config.read(),
        clock: this.#options.clock,
        onRead: (read) => this.#onRead(read),
        onTrouble: (message) => this.worker.notice('warn', message),
        onRecovered: () => this.worker.notice('info', 'the remote configuration can be read again'),
      },
      trouble,
    );
  }

  /** 401 or 4401. A key that is known and not refused yet is tried at once; a newer one may stand there by now. */
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

  /** The files of keys are looked at again and again: a secret that is mounted is changed without a signal. */
  #watchKeyFiles(): void {
    this.#takeBackKeyFiles?.();
    this.#takeBackKeyFiles = null;
    if (!this.#settled.hasKeyFiles) return;
    this.#takeBackKeyFiles = this.#options.clock.after(keyFilesEveryMs, () => {
      this.#readKeyFiles()
        .catch((error: unknown) => this.#tellKeyFileTrouble(messageOf(error)))
        .finally(() => this.#watchKeyFiles());
    });
  }

  async #readKeyFiles(): Promise<void> {
    await this.#apply('read anew with the key in its file');
    this.#keyFileTrouble = null;
  }

  #tellKeyFileTrouble(trouble: string): void {
    if (trouble !== this.#keyFileTrouble) this.worker.notice('warn', `${trouble}; the last key stays in use`);
    this.#keyFileTrouble = trouble;
  }

  /** @param why for the log. @throws SettingsError, ProviderUnreachable; everything is as it was then. */
  #apply(why: string): Promise<void> {
    const applied = this.#changing.then(() => this.#applyNow(why));
    // The next change waits for this one, and does not care how it ended.
    this.#changing = applied.catch(() => {});
    return applied;
  }

  async #applyNow(why: string): Promise<void> {
    const next = settle(this.#options, this.#file);
    const { live, restart } = settledChanges(this.#settled, next);
    if (live.length > 0) {
      await this.worker.reconfigure(this.#offer(next));
      this.worker.notice('info', `${why}: ${live.join(', ')}`);
      // Name and coordinator stay as they were, so that they go on to differ.
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

  /** The same settings give the same adapter, with what it has open. */
  #provider(settings: ProviderSettings): Provider {
    const key = JSON.stringify(settings);
    const provider = this.#providers.get(key) ?? createProvider(settings);
    if (provider === null) {
      throw new SettingsError(missingAddress(settings.name));
    }
    this.#providers.set(key, provider);
    return provider;
  }

  /** A model that is named wrong would else only show when the first job fails. */
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
  // Not what the remote configuration says itself: that could point the key at anybody.
  const coordinator =
    flags.coordinator ?? environment.coordinator ?? local.config.worker.coordinator ?? coordinatorDefault;
  const keyOrigin = socketUrl(coordinator).origin.replace(/^ws/, 'http');
  const config = new RemoteConfig({ url, apiKey: () => keys.best, keyOrigin });
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    warn(
      `the remote configuration comes over plain http from ${url.hostname}: whoever is on the way can change it`,
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
