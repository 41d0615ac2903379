import { type ChildProcess, fork } from 'node:child_process';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { threadFile } from '../lib/threadFile.ts';
import { type DispatchParts, DispatchTurns } from './dispatchTurns.ts';
import { FrameStream } from './frameStream.ts';
import { type FrontSettings, type FrontTurn, frameDescriptor, type Order, type Report } from './messages.ts';
import { TurnAnswers } from './turnAnswers.ts';

const file = fileURLToPath(threadFile('./frontProcess.ts', import.meta.url));
/** Until it listens, ms: far more than a start takes on a busy machine. */
const startMsMax = 30_000;
/** What Node itself may need of our environment: no secret, and no option that was meant for the core. */
const environment = ['PATH', 'LD_LIBRARY_PATH', 'NODE_COMPILE_CACHE'];
/** Of V8. What a front holds is 20 KiB for each request under way, and that is outside of it. */
const heapMb = 256;

export interface FrontOptions {
  settings: FrontSettings;
  parts: DispatchParts;
  /** Called with each connection that it hands over, before any further byte of it is read. */
  onConnection: (socket: Socket) => void;
}

/** How a front begins: it listens, or why it does not. */
export type Begun = { isListening: true } | { isListening: false; code: string; detail: string };

/** The core's side of a front: its process, and what is said to it. */
export class Front {
  /** Never rejects. */
  readonly begun: Promise<Begun>;
  /** Resolves when the process has ended, with how it did. */
  readonly ended: Promise<string>;
  readonly #process: ChildProcess;

  constructor({ settings, parts, onConnection }: FrontOptions) {
    const child = fork(file, [JSON.stringify(settings)], {
      env: Object.fromEntries(environment.map((name) => [name, process.env[name]])),
      execArgv: [`--max-old-space-size=${heapMb}`],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
    });
    this.#process = child;
    const stream = child.stdio[frameDescriptor];
    if (!(stream instanceof Duplex)) throw new Error('a front has no stream for frames');
    const answers = new TurnAnswers((text) => frames.send(text));
    const turns = new DispatchTurns(parts, answers);
    const frames = new FrameStream(stream, (text) => {
      const turn: FrontTurn = JSON.parse(text);
      turns.take(turn);
    });
    // The process says so too, and how it ended.
    stream.on('error', () => {});
    this.ended = new Promise((resolve) => {
      const end = (how: string): void => {
        turns.close();
        resolve(how);
      };
      child.once('exit', (code, signal) => end(signal ?? `code ${code}`));
      child.once('error', (error) => end(error.message));
    });
    const cancelStart = parts.clock.after(startMsMax, () => this.kill());
    void this.ended.then(cancelStart);
    this.begun = new Promise((resolve) => {
      child.on('message', (report: Report, handle: unknown) => {
        if (report.type === 'listening') {
          cancelStart();
          resolve({ isListening: true });
        } else if (report.type === 'failed') resolve({ ...report, isListening: false });
        else if (handle instanceof Socket) {
          // As the server's own connections: a client may end its side and still read.
          handle.allowHalfOpen = true;
          if (report.bytes !== '') handle.unshift(Buffer.from(report.bytes, 'latin1'));
          onConnection(handle);
        }
      });
      void this.ended.then((how) =>
        resolve({ isListening: false, code: 'ended', detail: `it ended with ${how}` }),
      );
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** From now on. @param unreadMs how long a client may read nothing of a response. */
  set unreadMs(unreadMs: number) {
    this.#order({ type: 'settings', unreadMs });
  }

  /** Take no more connections, and finish what is under way. */
  stop(): void {
    this.#order({ type: 'stop' });
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  #order(order: Order): void {
    if (this.#process.connected) this.#process.send(order, () => {});
  }
}
