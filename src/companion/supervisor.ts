import { socketUrl } from '../worker/disconnection.ts';
import type { SupervisedEnd, WorkerMessage } from '../worker/supervision.ts';
import { adviceForWorker } from './advice.ts';
import type { LogLevel } from './logFile.ts';
import type { CompanionSettings } from './settings.ts';
import type { Problem, RunMode, ShownWorker, WorkerPhase } from './state.ts';
import { isSame, type WorkerExit, type WorkerIdentity, WorkerProcess } from './workerProcess.ts';

export interface SupervisorOptions {
  /** The settings file, which the worker reads as its configuration. */
  settingsFile: string;
  /** Of the companion; its SVC_* are not passed on, because they would overrule the file. */
  env: NodeJS.ProcessEnv;
  cwd: string;
  log: (level: LogLevel, message: string) => void;
  onChange: () => void;
  onEnd: (end: SupervisedEnd) => void;
}

/** The first wait before a worker that died is restarted; it doubles up to the last. */
const restartMs = { first: 500, last: 30_000 };
/** A worker that lived this long is restarted as if it were the first time. */
const stableMs = 30_000;
/** More workers with former settings give their jobs back. */
const finishingMax = 3;
/** Wrong settings: the same worker would end again. */
const usageExit = 2;
/**
 * The notice of a worker about a setting that it cannot change. The companion sees to those itself; what is left is
 * another spelling of the same address.
 */
const restartNotice = /^the remote configuration changes .*: that needs a restart$/;

/**
 * Keeps one worker running with the settings. What it can change while it runs, it is told; a new name or coordinator
 * starts another at once, and the former finishes its jobs. A worker that ends by itself is restarted.
 *
 * A coordinator refuses a second live worker of one name. So a former worker that is wanted again while it finishes its
 * jobs is taken back; one that already drains is waited for.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  #settings: CompanionSettings | null = null;
  #mode: RunMode = 'off';
  #current: WorkerProcess | null = null;
  readonly #finishing = new Set<WorkerProcess>();
  #failures = 0;
  #retry: { timer: NodeJS.Timeout; at: number } | null = null;
  /** After wrong settings it waits for others. */
  #isStuck = false;
  #problem: Problem | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Follow the settings; null: there are none that can be used. */
  apply(settings: CompanionSettings | null): void {
    const before = this.#settings;
    this.#settings = settings;
    this.#isStuck = false;
    this.#failures = 0;
    if (JSON.stringify(before) !== JSON.stringify(settings)) this.#problem = null;
    const identity = identityOf(settings);
    const current = this.#current;
    if (current !== null && identity === null) this.#retire(current);
    else if (current !== null && identity !== null && !isSame(current.identity, identity)) {
      this.#options.log('info', 'the name or the coordinator has changed: starting another worker');
      this.#retire(current);
    }
    // A predecessor too: its jobs need the new key when the old one ends.
    (this.#current ?? this.#predecessor)?.order({ type: 'reload' });
    this.#run();
  }

  setMode(mode: RunMode): void {
    if (mode === this.#mode) return;
    this.#mode = mode;
    this.#isStuck = false;
    this.#failures = 0;
    if (mode === 'off' && this.#current !== null) {
      this.#retire(this.#current);
      this.#problem = null;
    }
    this.#current?.order({ type: 'hold', held: mode === 'paused' });
    this.#run();
  }

  /** End every worker; resolves when they are gone. */
  async stop(graceSeconds: number): Promise<void> {
    this.#cancelRetry();
    this.#mode = 'off';
    const all = [...this.#finishing, ...(this.#current === null ? [] : [this.#current])];
    await Promise.all(
      all.map((worker) => {
        if (worker.isOver) return undefined;
        const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
        worker.drain(graceSeconds);
        return gone;
      }),
    );
  }

  /** How many jobs run in all workers. */
  get running(): number {
    return [this.#current, ...this.#finishing].reduce(
      (sum, worker) => sum + (worker?.state?.running ?? 0),
      0,
    );
  }

  get shown(): ShownWorker {
    const state = this.#current?.state ?? null;
    return {
      mode: this.#mode,
      phase: this.#phase,
      pid: this.#current?.pid ?? null,
      isPausedThere: state?.isPaused ?? false,
      slots: state?.slots ?? this.#settings?.concurrency ?? 0,
      running: state?.running ?? 0,
      jobs: state?.jobs ?? [],
      finishing: [...this.#finishing].reduce((sum, worker) => sum + (worker.state?.running ?? 0), 0),
      problem: this.#problem,
      retryAt: this.#retry?.at ?? null,
    };
  }

  get #phase(): WorkerPhase {
    if (identityOf(this.#settings) === null) return 'setup';
    if (this.#mode === 'off') return 'off';
    if (this.#current === null) return this.#predecessor === null ? 'waiting' : 'ending';
    return this.#current.state?.isConnected === true ? 'working' : 'starting';
  }

  /** The former worker with the identity of the settings: a new one would be refused while it lives. */
  get #predecessor(): WorkerProcess | null {
    const identity = identityOf(this.#settings);
    if (identity === null) return null;
    return [...this.#finishing].find((worker) => isSame(worker.identity, identity)) ?? null;
  }

  #run(): void {
    this.#cancelRetry();
    const identity = identityOf(this.#settings);
    if (this.#mode !== 'off' && this.#current === null && identity !== null && !this.#isStuck) {
      const predecessor = this.#predecessor;
      if (predecessor === null) this.#start(identity);
      // Its exit starts the next one.
      else if (!predecessor.isLeaving) this.#takeBack(predecessor);
    }
    this.#options.onChange();
  }

  #takeBack(worker: WorkerProcess): void {
    this.#finishing.delete(worker);
    this.#current = worker;
    worker.takeBack(this.#mode === 'paused');
    this.#options.log('info', `worker ${worker.pid ?? ''} continues`);
  }

  #start(identity: WorkerIdentity): void {
    const { settingsFile, env, cwd, log } = this.#options;
    const inherited = Object.entries(env).filter(([name]) => !name.startsWith('SVC_'));
    const child = { ...Object.fromEntries(inherited), SVC_CONFIG: settingsFile };
    const worker = new WorkerProcess(identity, child, cwd);
    this.#current = worker;
    if (this.#mode === 'paused') worker.order({ type: 'hold', held: true });
    worker.on('message', (message) => this.#onMessage(worker, message));
    worker.on('leaving', () => log('info', `worker ${worker.pid ?? ''} drains`));
    worker.on('exit', (exit) => this.#onExit(worker, exit));
    log('info', `worker started with pid ${worker.pid ?? 'unknown'}`);
  }

  #onMessage(worker: WorkerProcess, message: WorkerMessage): void {
    const { log, onChange, onEnd } = this.#options;
    if (message.type === 'finished') onEnd(message.end);
    if (message.type === 'notice' && !restartNotice.test(message.message)) {
      log(message.level, message.message);
      if (message.level !== 'info' && worker === this.#current) this.#report(message.message);
    }
    if (message.type === 'state' && message.state.isConnected && worker === this.#current)
      this.#problem = null;
    onChange();
  }

  #onExit(worker: WorkerProcess, { code, lastWords }: WorkerExit): void {
    const { log, onChange } = this.#options;
    const how = code === null ? 'was ended' : `ended with ${code}`;
    const wasWanted = worker === this.#current;
    log(
      wasWanted ? 'warn' : 'info',
      `worker ${worker.pid ?? ''} ${how}${lastWords === null ? '' : `: ${lastWords}`}`,
    );
    const wasAwaited = this.#current === null && worker === this.#predecessor;
    this.#finishing.delete(worker);
    if (wasAwaited) this.#run();
    if (wasWanted) {
      this.#current = null;
      this.#report(lastWords ?? `the worker ${how}`);
      if (Date.now() - worker.startedAt >= stableMs) this.#failures = 0;
      if (code === usageExit) this.#isStuck = true;
      else this.#startLater();
    }
    onChange();
  }

  #startLater(): void {
    if (this.#mode === 'off') return;
    const waitMs = Math.min(restartMs.last, restartMs.first * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    const timer = setTimeout(() => {
      this.#retry = null;
      this.#run();
    }, waitMs);
    this.#retry = { timer, at: Date.now() + waitMs };
  }

  #cancelRetry(): void {
    if (this.#retry !== null) clearTimeout(this.#retry.timer);
    this.#retry = null;
  }

  #report(said: string): void {
    // Otherwise each try would be another problem, and a notification.
    const message = said.replace(/; trying again in [\d.]+ s$/, '');
    this.#problem = { message, advice: adviceForWorker(message) };
  }

  #retire(worker: WorkerProcess): void {
    this.#current = null;
    this.#finishing.add(worker);
    // Only those with jobs count: the others end in a moment.
    const busy = [...this.#finishing].filter(({ isBusy }) => isBusy);
    if (worker.isBusy && busy.length > finishingMax) worker.drain(0);
    else worker.retire();
  }
}

/** The identity of a worker with these settings; null when it could not start. */
function identityOf(settings: CompanionSettings | null): WorkerIdentity | null {
  if (settings === null || settings.apiKey === null || settings.providers.length === 0) return null;
  const { coordinator, name } = settings;
  try {
    return { coordinator: socketUrl(coordinator).href, name };
  } catch {
    // The worker itself reports an invalid address.
    return { coordinator, name };
  }
}
