import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { isFields } from '../lib/fields.ts';
import { isPackaged, projectFolder } from '../lib/projectFolder.ts';
import type { SupervisedState, WorkerMessage, WorkerOrder } from '../worker/supervision.ts';

/** How a worker ended. */
export interface WorkerExit {
  code: number | null;
  /** The last line of its standard error; null when it wrote none. */
  lastWords: string | null;
}

interface Events {
  message: [WorkerMessage];
  /** A drain was ordered for the first time. */
  leaving: [];
  exit: [WorkerExit];
}

/** The command line of this program, as Node starts it. */
export const entryFile: string = join(projectFolder, isPackaged ? 'dist/src/svc.js' : 'src/svc.ts');

const wordsMax = 2_000;
/** A worker exits by itself this long after its grace; then it is ended. */
const exitMs = 10_000;
/** A worker may finish the jobs that it has when it is retired for a day. */
const finishSeconds = 86_400;
/** A retired worker drains after this time without jobs: one that was assigned just before may not be reported yet. */
const idleMs = 500;

/** What a running worker cannot change, and what the coordinator knows it by. */
export interface WorkerIdentity {
  /** The address of its socket, so that two spellings of one address are the same. */
  coordinator: string;
  name: string;
}

export function isSame(a: WorkerIdentity, b: WorkerIdentity): boolean {
  return a.coordinator === b.coordinator && a.name === b.name;
}

/** One `svc worker` as a child process. Its settings are in the environment, its reports come over a channel of Node's. */
export class WorkerProcess extends EventEmitter<Events> {
  readonly identity: WorkerIdentity;
  readonly startedAt = Date.now();
  state: SupervisedState | null = null;
  readonly #child: ChildProcess;
  #words = '';
  #isOver = false;
  #kill: NodeJS.Timeout | null = null;
  #retirement: { end: NodeJS.Timeout; idle: NodeJS.Timeout | null } | null = null;
  #isLeaving = false;

  /**
   * @param identity fixed for its whole life.
   * @param env of the child, with SVC_CONFIG.
   */
  constructor(identity: WorkerIdentity, env: NodeJS.ProcessEnv, cwd: string) {
    super();
    this.identity = identity;
    this.#child = spawn(process.execPath, [entryFile, 'worker', '--supervised'], {
      env,
      cwd,
      // Its log would repeat what it reports.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      windowsHide: true,
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#words = (this.#words + text).slice(-wordsMax);
    });
    this.#child.on('message', (message) => this.#take(message));
    this.#child.on('error', (error) => {
      this.#words ||= error.message;
      this.#ended(null);
    });
    this.#child.on('close', (code) => this.#ended(code));
  }

  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether a drain was ordered, which cannot be undone. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Whether it last reported running jobs. */
  get isBusy(): boolean {
    return (this.state?.running ?? 0) > 0;
  }

  /** One that has just ended takes no more orders. */
  order(order: WorkerOrder): void {
    if (this.#child.connected) this.#child.send(order, () => {});
  }

  /**
   * Take no new jobs, and exit when the running ones are finished; after a day the rest goes back to the queue. Until
   * the last job is finished it only holds, because a drain could not be undone by `takeBack`.
   */
  retire(): void {
    if (this.#retirement !== null || this.#isLeaving) return;
    this.order({ type: 'hold', held: true });
    const end = setTimeout(() => this.drain(0), finishSeconds * 1000);
    end.unref();
    this.#retirement = { end, idle: null };
    this.#leaveWhenIdle();
  }

  /** Undo `retire`, unless `isLeaving`. @param held whether it takes no new jobs even so. */
  takeBack(held: boolean): void {
    this.#endRetirement();
    this.order({ type: 'hold', held });
  }

  /** Finish running jobs within the grace, and exit. */
  drain(graceSeconds: number): void {
    this.#endRetirement();
    if (!this.#isLeaving) {
      this.#isLeaving = true;
      this.emit('leaving');
    }
    this.order({ type: 'drain', graceSeconds });
    if (this.#kill !== null) clearTimeout(this.#kill);
    this.#kill = setTimeout(() => this.#child.kill('SIGKILL'), graceSeconds * 1000 + exitMs);
    this.#kill.unref();
  }

  #take(message: unknown): void {
    if (!isWorkerMessage(message)) return;
    if (message.type === 'state') {
      this.state = message.state;
      this.#leaveWhenIdle();
    }
    this.emit('message', message);
  }

  /** A retired worker without jobs drains, and so delivers what the coordinator has not acknowledged yet. */
  #leaveWhenIdle(): void {
    const retirement = this.#retirement;
    if (retirement === null) return;
    if (!this.isBusy) {
      retirement.idle ??= setTimeout(() => this.drain(finishSeconds), idleMs);
    } else if (retirement.idle !== null) {
      clearTimeout(retirement.idle);
      retirement.idle = null;
    }
  }

  #endRetirement(): void {
    const { end, idle = null } = this.#retirement ?? {};
    clearTimeout(end);
    if (idle !== null) clearTimeout(idle);
    this.#retirement = null;
  }

  #ended(code: number | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#endRetirement();
    if (this.#kill !== null) clearTimeout(this.#kill);
    const lines = this.#words.split('\n').filter((line) => line.trim() !== '');
    this.emit('exit', { code, lastWords: lines.at(-1)?.replace(/^error: /, '') ?? null });
  }
}

/** It comes from our own child, of this very version. */
function isWorkerMessage(message: unknown): message is WorkerMessage {
  return isFields(message) && ['state', 'notice', 'finished'].includes(String(message.type));
}
