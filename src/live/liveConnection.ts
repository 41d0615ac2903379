import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { Principal } from '../domain/key.ts';
import type { LiveClientFrame } from '../domain/liveProtocol.ts';
import { iso } from '../domain/wire/iso.ts';
import { closeCodes } from '../domain/workerProtocol.ts';
import { closeReason } from '../lib/closeReason.ts';
import { FrameCount } from '../lib/frameCount.ts';
import { parseClientFrame, topicsMax } from './clientFrames.ts';
import { webSocketFrame } from './encoding.ts';
import type { Live } from './live.ts';
import type { Outlet } from './outlet.ts';
import type { Subscriber } from './subscriber.ts';
import { assertMayHear } from './topics.ts';

/** Faults that a connection survives. */
const faultsMax = 5;
/** Frames a client may send within `rateWindowMs`. */
const framesMax = 100;
/** Pings and pongs in the same time. ws itself cuts who leaves 100 pongs unread, without a word. */
const controlFramesMax = 50;
const rateWindowMs = 10_000;
/** Pings that may go unanswered. */
const missedMax = 2;
/** How long a client has to answer a close before it is cut off, ms. */
const closeMs = 1_000;

/** One WebSocket of a dashboard: checked frames in, events out. */
export class LiveConnection implements Outlet {
  readonly encoding = webSocketFrame;
  readonly unnumbered = webSocketFrame;
  readonly #webSocket: WebSocket;
  readonly #socket: Duplex;
  readonly #live: Live;
  readonly #clock: Clock;
  readonly #subscriber: Subscriber;
  readonly #principal: Principal;
  /** The end of the last frame being handled: they are handled one after the other. */
  #tail: Promise<void> = Promise.resolve();
  #faults = 0;
  readonly #frames = new FrameCount(framesMax, rateWindowMs);
  readonly #controls = new FrameCount(controlFramesMax, rateWindowMs);
  #missed = 0;
  /** It was sent away; what it says until its socket is gone is not listened to. */
  #isOut = false;

  /** @param socket the one below the WebSocket: many frames leave it in one write. */
  constructor(options: {
    webSocket: WebSocket;
    socket: Duplex;
    live: Live;
    clock: Clock;
    principal: Principal;
  }) {
    this.#webSocket = options.webSocket;
    this.#socket = options.socket;
    this.#live = options.live;
    this.#clock = options.clock;
    this.#principal = options.principal;
    this.#subscriber = this.#live.join(this, options.principal);
    this.#webSocket.on('message', (data, isBinary) => {
      try {
        if (!this.#isOut) this.#receive(isBinary ? null : String(data));
      } catch (error) {
        // A bug; one frame must not end the coordinator for everybody.
        this.#refused(error);
      }
    });
    this.#webSocket.on('pong', () => {
      this.#missed = 0;
      this.#heardControl();
    });
    // Each ping is answered, at our cost.
    this.#webSocket.on('ping', () => this.#heardControl());
    // A frame that is too large or no frame at all; the library closes with the code that says so.
    this.#webSocket.on('error', () => {});
    this.#webSocket.on('close', () => this.#subscriber.left());
    this.#subscriber.greet(options.principal.role, iso(this.#clock.now()));
  }

  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  write(bytes: Buffer): void {
    if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#socket.write(bytes);
  }

  onTaken(done: () => void): void {
    this.#socket.once('drain', done);
  }

  ping(): void {
    if (this.#missed >= missedMax) {
      this.#webSocket.terminate();
      return;
    }
    this.#missed += 1;
    if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#webSocket.ping();
  }

  end(code: number, reason: string): void {
    this.#isOut = true;
    this.#webSocket.close(code, closeReason(reason));
    const cancel = this.#clock.after(closeMs, () => this.#webSocket.terminate());
    this.#webSocket.once('close', cancel);
  }

  /** The key it came with is no longer taken. */
  keyRefused(): void {
    this.#subscriber.end(closeCodes.keyRefused, 'the key is no longer taken');
  }

  /** @param text null when the frame is binary. */
  #receive(text: string | null): void {
    if (this.#frames.isOver(this.#clock.monotonic())) {
      this.#subscriber.end(closeCodes.policyViolation, 'too many frames');
      return;
    }
    const frame = text === null ? 'frames are text, this one is binary' : parseClientFrame(text);
    if (typeof frame === 'string') {
      this.#fault('bad_frame', frame);
      return;
    }
    this.#tail = this.#tail.then(() => this.#handle(frame)).catch((error: unknown) => this.#refused(error));
  }

  #heardControl(): void {
    if (!this.#controls.isOver(this.#clock.monotonic())) return;
    this.#subscriber.end(closeCodes.policyViolation, 'too many pings');
  }

  /** @throws CoordinatorError job_not_found; forbidden for a topic that the key may not hear. */
  async #handle(frame: LiveClientFrame): Promise<void> {
    const subscriber = this.#subscriber;
    if (frame.type === 'ping') {
      subscriber.say({ type: 'pong', server_time: iso(this.#clock.now()) });
    } else if (frame.type === 'unsubscribe') {
      subscriber.unsubscribe(frame.topics);
    } else if (new Set([...subscriber.topics, ...frame.topics]).size > topicsMax) {
      this.#fault('too_many_topics', `a connection may have ${topicsMax} topics; unsubscribe from some`);
    } else {
      // A number of another life of the coordinator says nothing about this one.
      const isForeign = frame.epoch !== undefined && frame.epoch !== this.#live.feed.epoch;
      assertMayHear(this.#principal.role, frame.topics);
      const since = frame.since === undefined ? null : isForeign ? 0 : frame.since;
      await subscriber.subscribe(frame.topics, since);
    }
  }

  #refused(error: unknown): void {
    this.#live.failed(error);
    const isOurs = error instanceof CoordinatorError && error.code !== 'internal_error';
    if (isOurs) this.#subscriber.say({ type: 'error', code: error.code, message: error.message });
    else this.#subscriber.end(closeCodes.tryAgainLater, 'the frame could not be handled');
  }

  /** A frame that breaks the protocol: told each time, and the connection ends when it goes on. */
  #fault(code: string, message: string): void {
    this.#faults += 1;
    this.#subscriber.say({ type: 'error', code, message });
    if (this.#faults >= faultsMax) {
      this.#subscriber.end(closeCodes.policyViolation, 'too many bad frames');
    }
  }
}
