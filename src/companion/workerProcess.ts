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
  exit: [WorkerExit];
}

/** The command line of this program, as Node starts it. */
export const entryFile: string = join(projectFolder, isPackaged ? 'dist/src/svc.js' : 'src/svc.ts');

const wordsMax = 2_000;
/** A worker exits by itself this long after its grace; then it is ended. */
const exitMs = 10_000;

/** One `svc worker` as a child process. Its settings are in the environment, its reports come over a channel of Node's. */
export class WorkerProcess extends EventEmitter<Events> {
  readonly identity: string;
  readonly startedAt = Date.now();
  state: SupervisedState | null = null;
  readonly #child: ChildProcess;
  #words = '';
  #isOver = false;
  #kill: NodeJS.Timeout | null = null;

  /**
   * @param identity what another worker would be needed for.
   * @param env of the child, with SVC_CONFIG.
   */
  constructor(identity: string, env: NodeJS.ProcessEnv, cwd: string) {
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

  /** One that has just ended takes no more orders. */
  order(order: WorkerOrder): void {
    if (this.#child.connected) this.#child.send(order, () => {});
  }

  /** Finish running jobs within the grace, and exit. */
  drain(graceSeconds: number): void {
    this.order({ type: 'drain', graceSeconds });
    if (this.#kill !== null) clearTimeout(this.#kill);
    this.#kill = setTimeout(() => this.#child.kill('SIGKILL'), graceSeconds * 1000 + exitMs);
    this.#kill.unref();
  }

  #take(message: unknown): void {
    if (!isWorkerMessage(message)) return;
    if (message.type === 'state') this.state = message.state;
    this.emit('message', message);
  }

  #ended(code: number | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#kill !== null) clearTimeout(this.#kill);
    const lines = this.#words.split('\n').filter((line) => line.trim() !== '');
    this.emit('exit', { code, lastWords: lines.at(-1)?.replace(/^error: /, '') ?? null });
  }
}

/** It comes from our own child, of this very version. */
function isWorkerMessage(message: unknown): message is WorkerMessage {
  return isFields(message) && ['state', 'notice', 'finished'].includes(String(message.type));
}
