import { type Doer, nobody } from '../domain/audit.ts';
import type { Logger } from '../lib/log.ts';
import { type ConfigChange, changesBetween, withFixed } from './changes.ts';
import type { Config } from './config.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from './load.ts';
import { ConfigError } from './problem.ts';
import { sourcesOf } from './sources.ts';

/** The result of a reload. */
export interface Reloaded {
  /** Settings that the reload has changed. */
  changed: ConfigChange[];
  /** Keys whose value in the file differs from the effective one: they need a restart. */
  needsRestart: string[];
  warnings: string[];
}

/**
 * The effective configuration. Read `current` at every use and never keep it, so that a reload reaches everything: it
 * is read and validated as a whole, and only then replaces the old one, at once.
 */
export class LiveConfig {
  #loaded: LoadedConfig;
  readonly #load: () => Promise<LoadedConfig>;
  readonly #logger: Logger | null;
  readonly #listeners = new Set<() => void>();
  #onReload: (reloaded: Reloaded, by: Doer) => Promise<void> = async () => {};
  #needsRestart: string[] = [];
  /** The end of the last reload: they run one after the other. */
  #tail: Promise<unknown> = Promise.resolve();

  /** @param load reads it again. @throws ConfigError, from `load`. */
  constructor(loaded: LoadedConfig, load: () => Promise<LoadedConfig>, logger: Logger | null = null) {
    this.#loaded = loaded;
    this.#load = load;
    this.#logger = logger;
  }

  /** From flags, environment and file; `reload` reads the same file. */
  static ofFile(loaded: LoadedConfig, options: LoadOptions, logger: Logger): LiveConfig {
    return new LiveConfig(loaded, () => loadConfig({ ...options, again: loaded.file }), logger);
  }

  /** One that never changes. */
  static of(config: Config): LiveConfig {
    const loaded = { config, file: null, warnings: [], sources: sourcesOf(config, {}, {}), apiKey: null };
    return new LiveConfig(loaded, async () => loaded);
  }

  get current(): Config {
    return this.#loaded.config;
  }

  /** Its file, absolute; null when there was none. */
  get file(): string | null {
    return this.#loaded.file;
  }

  /** By key path: the source of the effective value. */
  get sources(): LoadedConfig['sources'] {
    return this.#loaded.sources;
  }

  get warnings(): readonly string[] {
    return this.#loaded.warnings;
  }

  /** Keys whose value in the file, as last read, needs a restart. */
  get needsRestart(): readonly string[] {
    return this.#needsRestart;
  }

  /** Call `listener` after every reload that changed something. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Call `listener` after every reload, even without changes; the reload waits for it. It must not throw. */
  onReload(listener: (reloaded: Reloaded, by: Doer) => Promise<void>): void {
    this.#onReload = listener;
  }

  /**
   * Read it again, and apply it when it is valid. Changes are logged, secrets masked.
   * @param by who requested it. @throws ConfigError with every problem, also logged; the old one then stays in effect.
   */
  reload(by: Doer = nobody): Promise<Reloaded> {
    const reloaded = this.#tail.then(async () => {
      const result = await this.#reload();
      await this.#onReload(result, by);
      return result;
    });
    this.#tail = reloaded.catch(() => {});
    return reloaded;
  }

  async #reload(): Promise<Reloaded> {
    const now = this.#loaded;
    let next: LoadedConfig;
    try {
      next = await this.#load();
    } catch (error) {
      const problems = error instanceof ConfigError ? error.message.split('\n') : [String(error)];
      this.#logger?.error({ problems }, 'the configuration is invalid; the old one stays in effect');
      throw error;
    }
    const config = withFixed(next.config, now.config);
    const changed = changesBetween(now.config, config);
    const waiting = changesBetween(config, next.config).map(({ key }) => key);
    this.#loaded = { ...next, config, sources: keptSources(next.sources, now.sources, waiting) };
    this.#needsRestart = waiting;
    const { warnings } = next;
    this.#logger?.info({ changed, needs_restart: waiting, warnings }, 'the configuration was reloaded');
    if (changed.length > 0) for (const listener of this.#listeners) listener();
    return { changed, needsRestart: waiting, warnings };
  }
}

/** A value that needs a restart keeps its old source. */
function keptSources(
  next: LoadedConfig['sources'],
  now: LoadedConfig['sources'],
  waiting: readonly string[],
): LoadedConfig['sources'] {
  return Object.fromEntries([
    ...Object.entries(next).filter(([key]) => !waiting.includes(key)),
    ...Object.entries(now).filter(([key]) => waiting.includes(key)),
  ]);
}
