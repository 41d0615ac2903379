import type { Clock, Random } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { CoordinatorFrame, ErrorFrame, HelloFrame, WelcomeFrame } from '../domain/workerProtocol.ts';
import { closeReason } from '../lib/closeReason.ts';
import { type Socket, socketStates } from '../lib/socket.ts';
import { socketWords } from '../lib/socketFailure.ts';
import { reconnectDelay } from './backoff.ts';
import type { Dial } from './dial.ts';
import { type Disconnection, setbackOfClose, setbackOfStatus } from './disconnection.ts';
import { parseFrame } from './frames.ts';

/** The callbacks of the connection to its owner. */
interface ConnectionOwner {
  /** The first frame of a new connection; called for each, because `running` differs. */
  hello(): HelloFrame;
  /** From here on `send` works. */
  onWelcome(frame: WelcomeFrame): void;
  /** Called with every frame after the welcome. */
  onFrame(frame: Exclude<CoordinatorFrame, WelcomeFrame>): void;
  /** The connection is closed; the next attempt is in `retryMs`. Only called after a welcome. */
  onDown(code: number, retryMs: number): void;
  onProblem(trouble: Disconnection, retryMs: number): void;
  /** Called at every sign of life, also a ping. */
  onActivity(): void;
}

export interface ConnectionOptions {
  url: URL;
  /** Read at every attempt, so that a rotated key is used without a restart. */
  apiKey: () => string;
  name: string;
  clock: Clock;
  random: Random;
  dial: Dial;
  owner: ConnectionOwner;
}

/** From hello to welcome: a coordinator replays its journal before it listens, so it answers quickly. */
const welcomeMs = 30_000;
/** A connection this old resets the back-off; resetting it earlier would make a tight loop. */
const heldMs = 10_000;
const closeMs = 2000;
const problemsLoggedMax = 20;

/**
 * The one WebSocket to the coordinator: it connects, sends hello, and reconnects after every break until `close`.
 * Frames are only sent after the welcome; the outbox keeps what must survive a break.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  #socket: Socket | null = null;
  #isWelcomed = false;
  #isClosed = false;
  #attempt = 0;
  #welcomedAt = 0;
  #problems = 0;
  #takeBackRetry: (() => void) | null = null;
  #takeBackWelcome: (() => void) | null = null;
  #trouble: Disconnection | null = null;
  /** The last error frame of this connection. */
  #error: ErrorFrame | null = null;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Begin the first attempt to connect. */
  open(): void {
    this.#connect();
  }

  get isWelcomed(): boolean {
    return this.#isWelcomed;
  }

  /** Bytes waiting for a slow network or coordinator. */
  get backlogBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /**
   * Send one frame.
   * @returns false without a welcomed connection; the frame is not kept then.
   */
  send(json: string): boolean {
    if (!this.#isWelcomed || this.#socket?.readyState !== socketStates.open) return false;
    this.#socket.send(json);
    return true;
  }

  /** If it waits for the next attempt, make it now: there is a new key. */
  retryNow(): void {
    if (!this.#takeBackRetry) return;
    this.#takeBackRetry();
    this.#connect();
  }

  /** Give up the current connection as dead and make a new one. */
  abandon(message: string): void {
    if (!this.#socket) return;
    this.#trouble = { setback: 'lost', level: 'warn', message };
    this.#socket.terminate();
  }

  /** Close this connection cleanly and reconnect at once: the hello or the key has changed. */
  renew(message: string): void {
    const socket = this.#socket;
    const isConnecting = socket?.readyState === socketStates.connecting;
    if (socket === null || (!isConnecting && socket.readyState !== socketStates.open)) return;
    this.#trouble = { setback: 'lost', level: 'info', message, isIntended: true };
    if (isConnecting) {
      socket.terminate();
      return;
    }
    const takeBack = this.#options.clock.after(closeMs, () => socket.terminate());
    socket.once('close', takeBack);
    socket.close(1000, 'new settings');
  }

  /** Close it for good; resolves when the socket is closed, at the latest after two seconds. */
  close(code: number, reason: string): Promise<void> {
    this.#isClosed = true;
    this.#takeBackRetry?.();
    this.#takeBackRetry = null;
    const socket = this.#socket;
    if (!socket) return Promise.resolve();
    return new Promise((resolve) => {
      const takeBack = this.#options.clock.after(closeMs, () => socket.terminate());
      socket.once('close', () => {
        takeBack();
        resolve();
      });
      if (socket.readyState === socketStates.connecting) socket.terminate();
      else socket.close(code, closeReason(reason));
    });
  }

  #connect(): void {
    this.#takeBackRetry = null;
    this.#trouble = null;
    this.#error = null;
    this.#problems = 0;
    const { dial, url, apiKey } = this.#options;
    let socket: Socket;
    try {
      socket = dial(url, apiKey(), (status, headers) => {
        this.#trouble = setbackOfStatus(status, url, headers);
      });
    } catch (error) {
      // For example a key with a line break. Node's message names the header and not the key.
      const message = `the connection cannot be made: ${messageOf(error)}`;
      this.#retry({ setback: 'refused', level: 'error', message });
      return;
    }
    this.#socket = socket;
    this.#listen(socket);
  }

  #listen(socket: Socket): void {
    const { owner, url, clock } = this.#options;
    socket.on('open', () => {
      socket.send(JSON.stringify(owner.hello()));
      this.#takeBackWelcome = clock.after(welcomeMs, () => this.abandon('the coordinator sent no welcome'));
    });
    socket.on('ping', () => owner.onActivity());
    socket.on('message', (data, isBinary) => {
      owner.onActivity();
      if (isBinary) this.#report('a binary frame');
      else this.#take(String(data));
    });
    socket.on('error', (error) => {
      this.#trouble ??= {
        setback: 'lost',
        level: 'warn',
        message: `the coordinator at ${url.origin} cannot be reached: ${reasonOf(error)}`,
      };
    });
    socket.on('close', (code, reason) => this.#onClose(code, String(reason)));
  }

  /** A bug in handling a frame must not end the process: other jobs run in it. */
  #take(text: string): void {
    try {
      this.#onText(text);
    } catch (error) {
      const message = `a frame could not be handled: ${messageOf(error)}`;
      this.#options.owner.onProblem({ setback: 'protocol', level: 'error', message }, 0);
    }
  }

  #onText(text: string): void {
    const frame = parseFrame(text, (problem) => this.#report(problem));
    if (!frame) return;
    if (frame.type === 'error') this.#error = frame;
    if (frame.type === 'welcome') {
      this.#takeBackWelcome?.();
      this.#isWelcomed = true;
      this.#welcomedAt = this.#options.clock.monotonic();
      this.#options.owner.onWelcome(frame);
    } else if (this.#isWelcomed || frame.type === 'error') {
      this.#options.owner.onFrame(frame);
    } else {
      this.#report(`a ${frame.type} frame before the welcome`);
    }
  }

  /** Garbage must not flood the log either. */
  #report(problem: string): void {
    if (++this.#problems > problemsLoggedMax) return;
    const message = `ignored a frame of the coordinator: ${problem}`;
    this.#options.owner.onProblem({ setback: 'protocol', level: 'warn', message }, 0);
  }

  #onClose(code: number, reason: string): void {
    const { clock } = this.#options;
    const wasWelcomed = this.#isWelcomed;
    this.#takeBackWelcome?.();
    this.#isWelcomed = false;
    this.#socket = null;
    if (wasWelcomed && clock.monotonic() - this.#welcomedAt >= heldMs) this.#attempt = 0;
    const trouble = this.#trouble ?? setbackOfClose(code, reason, this.#options.name, this.#error);
    const retryMs = this.#isClosed ? 0 : this.#retry(trouble);
    if (wasWelcomed) this.#options.owner.onDown(code, retryMs);
  }

  #retry(trouble: Disconnection): number {
    const { clock, random, owner } = this.#options;
    const retryMs = trouble.isIntended
      ? 0
      : Math.max(reconnectDelay(trouble.setback, this.#attempt++, random), trouble.retryAfterMs ?? 0);
    this.#takeBackRetry = clock.after(retryMs, () => this.#connect());
    owner.onProblem(trouble, retryMs);
    return retryMs;
  }
}

/** A refused connection on both address families has an empty message and several causes. */
function reasonOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  const words = socketWords(code);
  return words === null ? error.message || code || error.name : `${words} (${code})`;
}
