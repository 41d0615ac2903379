import { type Doer, nobody } from '../domain/audit.ts';
import type { Logger } from '../lib/log.ts';
import { type ConfigChange, changesBetween, withFixed } from './changes.ts';
import type { Config } from './config.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from './load.ts';
import { ConfigError } from './problem.ts';
import { sourcesOf } from './sources.ts';

/** What reading the configuration again has brought. */
export interface Reloaded {
  /** What is in force now and was not before. */
  changed: ConfigChange[];
  /** Keys that have another value in the file than in force: they wait for a restart. */
  needsRestart: string[];
  warnings: string[];
}

/**
 * The configuration in force. `current` is asked at every use and never kept, so that a reload reaches everything: it
 * is read and checked as a whole, and only then takes the place of the old one, at once.
 */
export class LiveConfig {
  #loaded: LoadedConfig;
  readonly #load: () => Promise<LoadedConfig>;
  readonly #logger: Logger | null;
  readonly #listeners = new Set<() => void>();
  #onReload: (reloaded: Reloaded, by: Doer) => Promise<void> = async () => {};
  #needsRestart: string[] = [];
  /** The end of the last reload: they are made one after the other. */
  #tail: Promise<unknown> = Promise.resolve();

  /** @param load reads it anew. @throws ConfigError, from `load`. */
  constructor(loaded: LoadedConfig, load: () => Promise<LoadedConfig>, logger: Logger | null = null) {
    this.#loaded = loaded;
    this.#load = load;
    this.#logger = logger;
  }

  /** From flags, environment and file; `reload` reads the very same file. */
  static ofFile(loaded: LoadedConfig, options: LoadOptions, logger: Logger): LiveConfig {
    return new LiveConfig(loaded, () => loadConfig({ ...options, again: loaded.file }), logger);
  }

  /** One that stays as it is. */
  static of(config: Config): LiveConfig {
    const loaded = { config, file: null, warnings: [], sources: sourcesOf(config, {}, {}), apiKey: null };
    return new LiveConfig(loaded, async () => loaded);
  }

  get current(): Config {
    return this.#loaded.config;
  }

  /** The file it is read from, absolute; null when there was none. */
  get file(): string | null {
    return this.#loaded.file;
  }

  /** By key path: where the value in force came from. */
  get sources(): LoadedConfig['sources'] {
    return this.#loaded.sources;
  }

  get warnings(): readonly string[] {
    return this.#loaded.warnings;
  }

  /** Keys whose value in the file, as it was last read, waits for a restart. */
  get needsRestart(): readonly string[] {
    return this.#needsRestart;
  }

  /** Call `listener` after every reload that has changed something. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Call `listener` after every reload, also one that changed nothing; the reload waits for it. It must not throw. */
  onReload(listener: (reloaded: Reloaded, by: Doer) => Promise<void>): void {
    this.#onReload = listener;
  }

  /**
   * Read it again, and put it in force when it is good. What changed is logged, secrets masked.
   * @param by who asked for it. @throws ConfigError with every problem, also logged; the old one stays in force.
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
      this.#logger?.error({ problems }, 'the configuration cannot be used; the old one stays in force');
      throw error;
    }
    const config = withFixed(next.config, now.config);
    const changed = changesBetween(now.config, config);
    const waiting = changesBetween(config, next.config).map(({ key }) => key);
    this.#loaded = { ...next, config, sources: keptSources(next.sources, now.sources, waiting) };
    this.#needsRestart = waiting;
    const { warnings } = next;
    this.#logger?.info({ changed, needs_restart: waiting, warnings }, 'the configuration was read again');
    if (changed.length > 0) for (const listener of this.#listeners) listener();
    return { changed, needsRestart: waiting, warnings };
  }
}

/** A value that stays in force until the restart keeps the source that it came from. */
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
