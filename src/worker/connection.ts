import type { Clock, Random } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { CoordinatorFrame, ErrorFrame, HelloFrame, WelcomeFrame } from '../domain/workerProtocol.ts';
import { closeReason } from '../lib/closeReason.ts';
import { type Socket, socketStates } from '../lib/socket.ts';
import { socketWords } from '../lib/socketFailure.ts';
import { reconnectDelay } from './backoff.ts';
import type { Dial } from './dial.ts';
import { parseFrame } from './frames.ts';
import { setbackOfClose, setbackOfStatus, type Trouble } from './trouble.ts';

/** What the connection tells its owner. */
interface ConnectionOwner {
  /** The first frame of a new connection; asked anew each time, for `running` is different. */
  hello(): HelloFrame;
  /** From here on `send` works. */
  onWelcome(frame: WelcomeFrame): void;
  /** Every frame after the welcome. */
  onFrame(frame: Exclude<CoordinatorFrame, WelcomeFrame>): void;
  /** There is none any more; the next attempt comes in `retryMs`. Only told of one that was welcomed before. */
  onDown(code: number, retryMs: number): void;
  onTrouble(trouble: Trouble, retryMs: number): void;
  /** Any sign of life, also a ping. */
  onHeard(): void;
}

export interface ConnectionOptions {
  url: URL;
  /** Asked at every attempt, so that a rotated key is used without a restart. */
  apiKey: () => string;
  name: string;
  clock: Clock;
  random: Random;
  dial: Dial;
  owner: ConnectionOwner;
}

/** From hello to welcome: a coordinator replays its journal before it listens, so this is short work for it. */
const welcomeMs = 30_000;
/** A connection that held for so long starts the back-off anew; one that fails sooner does not, or it would spin. */
const heldMs = 10_000;
const closeMs = 2000;
const problemsLoggedMax = 20;

/**
 * The one WebSocket to the coordinator: connects, says hello, and connects again whatever happens, until `close`.
 * Frames are only sent after the welcome; what must survive a break is kept by the outbox, not here.
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
  #trouble: Trouble | null = null;
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

  /** Bytes that wait for a slow network or coordinator. */
  get backlogBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /**
   * Send one frame.
   * @returns false when there is no welcomed connection; nothing is kept then.
   */
  send(json: string): boolean {
    if (!this.#isWelcomed || this.#socket?.readyState !== socketStates.open) return false;
    this.#socket.send(json);
    return true;
  }

  /** Waiting for the next attempt? Make it now: a new key has come. */
  retryNow(): void {
    if (!this.#takeBackRetry) return;
    this.#takeBackRetry();
    this.#connect();
  }

  /** Give up the present connection as dead and make a new one. */
  abandon(message: string): void {
    if (!this.#socket) return;
    this.#trouble = { setback: 'lost', level: 'warn', message };
    this.#socket.terminate();
  }

  /** Close this connection in good order and make another at once: the hello says something else now. */
  renew(message: string): void {
    const socket = this.#socket;
    if (socket?.readyState !== socketStates.open) return;
    this.#trouble = { setback: 'lost', level: 'info', message, isMeant: true };
    const takeBack = this.#options.clock.after(closeMs, () => socket.terminate());
    socket.once('close', takeBack);
    socket.close(1000, 'new settings');
  }

  /** End it for good; resolves when the socket is gone, at the latest after two seconds. */
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
      // A key with a line break in it, for one. Node's message names the header and not the key.
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
    socket.on('ping', () => owner.onHeard());
    socket.on('message', (data, isBinary) => {
      owner.onHeard();
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

  /** A bug met while a frame is handled must not end the process: other jobs run in it. */
  #take(text: string): void {
    try {
      this.#onText(text);
    } catch (error) {
      const message = `a frame could not be handled: ${messageOf(error)}`;
      this.#options.owner.onTrouble({ setback: 'protocol', level: 'error', message }, 0);
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

  /** Garbage must not fill the log either. */
  #report(problem: string): void {
    if (++this.#problems > problemsLoggedMax) return;
    const message = `ignored from the coordinator: ${problem}`;
    this.#options.owner.onTrouble({ setback: 'protocol', level: 'warn', message }, 0);
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

  #retry(trouble: Trouble): number {
    const { clock, random, owner } = this.#options;
    const retryMs = trouble.isMeant
      ? 0
      : Math.max(reconnectDelay(trouble.setback, this.#attempt++, random), trouble.retryAfterMs ?? 0);
    this.#takeBackRetry = clock.after(retryMs, () => this.#connect());
    owner.onTrouble(trouble, retryMs);
    return retryMs;
  }
}

/** A refused connection on both address families has an empty message and several causes. */
function reasonOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  const words = socketWords(code);
  return words === null ? error.message || code || error.name : `${words} (${code})`;
}
