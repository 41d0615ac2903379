import { messageOf } from '../domain/errors.ts';
import { version } from '../lib/version.ts';
import { Access } from './access.ts';
import { CoordinatorWatch, httpAddress, testConnection } from './coordinatorWatch.ts';
import type { Instance } from './instance.ts';
import { LogFile } from './logFile.ts';
import { install, isInstalled, type LoginEntry, uninstall } from './login.ts';
import { Memory } from './memory.ts';
import { readPage } from './pageFiles.ts';
import type { CompanionPaths } from './paths.ts';
import { parseChange, parseConnection, parseFlag, parseMode } from './requests.ts';
import { type Action, BadRequest, PageServer } from './server.ts';
import { findServers } from './servers.ts';
import { type CompanionSettings, changeSettings, prepareSettings, readSettings } from './settings.ts';
import { SettingsWatch } from './settingsWatch.ts';
import type { CompanionState, FoundServer, ShownLogin } from './state.ts';
import { Supervisor } from './supervisor.ts';

export interface CompanionOptions {
  paths: CompanionPaths;
  env: NodeJS.ProcessEnv;
  instance: Instance;
  /** Of the page; 0 for any. */
  port: number;
  /** null: this system has no start at login that is known here. */
  login: LoginEntry | null;
  /** Called when the page or another command asks it to end. */
  onStop: () => void;
  /** A link that opens the dashboard signed in. */
  signInLink: (url: string, key: string) => string;
}

/** How long running jobs may take when the companion ends. */
const graceSeconds = 30;
const serversEveryMs = 30_000;
/** The beginning of a key has its role and its id; the secret follows. */
const shownKey = /^svc_[a-z]+_[a-z0-9]+(?=_)/i;

/** The companion: its settings, the worker that it supervises, and its page. */
export class Companion {
  readonly #options: CompanionOptions;
  readonly #access = new Access();
  readonly #log: LogFile;
  readonly #memory: Memory;
  readonly #supervisor: Supervisor;
  readonly #coordinator: CoordinatorWatch;
  readonly #server: PageServer;
  readonly #watch: SettingsWatch;
  #settings: CompanionSettings | null = null;
  #problem: string | null = null;
  #servers: FoundServer[] = [];
  #login: ShownLogin = { file: null, isInstalled: false };
  #serversTimer: NodeJS.Timeout | null = null;
  #isStopped = false;
  /** Changes of the settings happen one after the other. */
  #changing: Promise<unknown> = Promise.resolve();

  /** @throws as node:fs does when its state folder cannot be used. */
  constructor(options: CompanionOptions) {
    this.#options = options;
    const { paths, env } = options;
    const changed = (): void => this.#server.changed();
    this.#log = new LogFile(paths.state, changed);
    this.#memory = new Memory(paths.state);
    this.#coordinator = new CoordinatorWatch(changed);
    this.#supervisor = new Supervisor({
      settingsFile: paths.settings,
      env,
      cwd: paths.home,
      log: (level, message) => this.#log.add(level, message),
      onChange: changed,
      onEnd: (end) => this.#memory.add(end),
    });
    this.#watch = new SettingsWatch(paths.settings, () => void this.#reload());
    this.#server = new PageServer({
      access: this.#access,
      files: readPage(),
      state: () => JSON.stringify(this.#state),
      actions: this.#actions(),
      dashboardLink: () => this.#dashboardLink(),
    });
  }

  /**
   * Read the settings, start the worker, serve the page, and let other commands find it.
   * @returns a link that opens the page, once. @throws as node:fs and node:net do.
   */
  async start(): Promise<string> {
    const { paths, port, instance, login } = this.#options;
    const { wasOpen } = await prepareSettings(paths.settings);
    await this.#server.listen(port);
    if (wasOpen) this.#log.add('warn', `${paths.settings} could be read by other users; now only by you`);
    this.#login = { file: login?.path ?? null, isInstalled: login !== null && (await isInstalled(login)) };
    await this.#watch.start();
    await this.#reload();
    this.#supervisor.setMode(this.#memory.mode);
    const { origin, base, token } = this.#access;
    await instance.publish({ pid: process.pid, url: `${origin}${base}`, token });
    this.#log.add('info', `companion ${version} started at ${origin}`);
    this.#lookForServers(0);
    return this.#access.link();
  }

  /** Drain the worker and end. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#log.add('info', 'the companion is stopping');
    this.#watch.stop();
    this.#coordinator.stop();
    if (this.#serversTimer !== null) clearTimeout(this.#serversTimer);
    await this.#supervisor.stop(graceSeconds);
    this.#server.close();
    await this.#memory.write();
    await this.#options.instance.release();
  }

  /** How many jobs run. */
  get running(): number {
    return this.#supervisor.running;
  }

  get #state(): CompanionState {
    const { paths } = this.#options;
    const settings = this.#settings;
    const served = settings?.providers ?? [];
    return {
      version,
      settings: {
        file: paths.settings,
        coordinator: settings?.coordinator ?? '',
        key: nameOfKey(settings?.apiKey ?? null),
        name: settings?.name ?? '',
        concurrency: settings?.concurrency ?? 1,
        providers: served,
        problem: this.#problem,
      },
      worker: this.#supervisor.shown,
      coordinator: this.#coordinator.shown,
      today: this.#memory.today,
      failures: this.#memory.failures,
      servers: this.#servers.map((server) => ({ ...server, isServed: served.includes(server.name) })),
      login: this.#login,
      log: [...this.#log.last],
    };
  }

  #actions(): Readonly<Record<string, Action>> {
    return {
      test: async (body) => {
        const { coordinator, apiKey } = parseConnection(body);
        return testConnection(coordinator, apiKey ?? this.#ownKey(coordinator));
      },
      settings: (body) => this.#change(body),
      worker: async (body) => {
        const mode = parseMode(body);
        this.#memory.setMode(mode);
        this.#supervisor.setMode(mode);
      },
      servers: async () => this.#findServers(),
      login: (body) => this.#changeLogin(parseFlag(body, 'isInstalled')),
      link: async () => ({ link: this.#access.link() }),
      stop: async () => {
        this.#options.onStop();
      },
    };
  }

  /** The key of the settings is sent to its own coordinator alone. */
  #ownKey(coordinator: string): string | null {
    const own = this.#settings?.coordinator ?? null;
    return own !== null && httpAddress(own) === httpAddress(coordinator)
      ? (this.#settings?.apiKey ?? null)
      : null;
  }

  async #change(body: Parameters<Action>[0]): Promise<void> {
    const change = parseChange(body);
    const isElsewhere =
      body.coordinator !== undefined &&
      body.key === undefined &&
      this.#ownKey(String(body.coordinator)) === null;
    if (isElsewhere && this.#settings?.apiKey) {
      throw new BadRequest(
        'Enter the key of the new coordinator too: the old one is not sent to another address.',
      );
    }
    const changed = this.#changing.then(() => changeSettings(this.#options.paths.settings, change));
    this.#changing = changed.catch(() => {});
    await changed.catch((error: unknown) => {
      throw new BadRequest(`The settings cannot be changed: ${messageOf(error)}`);
    });
    await this.#watch.know();
    await this.#reload();
  }

  /** Read the file; what it has wrong is shown, and the last valid settings stay in use. */
  async #reload(): Promise<void> {
    const { paths } = this.#options;
    try {
      await prepareSettings(paths.settings);
      const settings = await readSettings(paths.settings);
      const isFirst = this.#settings === null;
      this.#settings = settings;
      this.#problem = null;
      if (!isFirst) this.#log.add('info', 'the settings were read again');
      this.#supervisor.apply(settings);
      this.#coordinator.follow(settings);
      this.#lookForServers(0);
    } catch (error) {
      this.#problem = messageOf(error);
      this.#log.add('error', `the settings cannot be used: ${this.#problem}`);
    }
    this.#server.changed();
  }

  async #changeLogin(isWanted: boolean): Promise<void> {
    const { login } = this.#options;
    if (login === null) throw new BadRequest('This system has no start at login that is known here.');
    if (isWanted) await install(login);
    else await uninstall(login);
    this.#login = { file: login.path, isInstalled: isWanted };
    this.#log.add('info', isWanted ? `wrote ${login.path}` : `removed ${login.path}`);
  }

  #lookForServers(delayMs: number): void {
    if (this.#serversTimer !== null) clearTimeout(this.#serversTimer);
    if (this.#isStopped) return;
    this.#serversTimer = setTimeout(() => {
      void this.#findServers().finally(() => this.#lookForServers(serversEveryMs));
    }, delayMs);
  }

  async #findServers(): Promise<void> {
    const found = await findServers(this.#settings);
    if (JSON.stringify(found) === JSON.stringify(this.#servers)) return;
    this.#servers = found;
    this.#server.changed();
  }

  #dashboardLink(): string {
    const { coordinator = '', apiKey = null } = this.#settings ?? {};
    const url = httpAddress(coordinator);
    return apiKey === null ? url : this.#options.signInLink(url, apiKey);
  }
}

/** The part of a key that names it; null without a key. */
function nameOfKey(key: string | null): string | null {
  if (key === null) return null;
  const [start] = shownKey.exec(key) ?? [];
  return `${start ?? key.slice(0, 4)}…`;
}
