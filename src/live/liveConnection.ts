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
import { assertMaySubscribe } from './topics.ts';

/** Faults before a connection is closed. */
const faultsMax = 5;
/** Frames a client may send within `rateWindowMs`. */
const framesMax = 100;
/** Pings and pongs in the same time. ws itself silently cuts a client that leaves 100 pongs unread. */
const controlFramesMax = 50;
const rateWindowMs = 10_000;
/** Pings that may go unanswered. */
const missedMax = 2;
/** How long a client has to answer a close before it is cut, ms. */
const closeMs = 1_000;

/** One WebSocket of a dashboard: validated frames in, events out. */
export class LiveConnection implements Outlet {
  readonly encoding = webSocketFrame;
  readonly unnumbered = webSocketFrame;
  readonly #webSocket: WebSocket;
  readonly #socket: Duplex;
  readonly #live: Live;
  readonly #clock: Clock;
  readonly #subscriber: Subscriber;
  readonly #principal: Principal;
  /** The end of the last frame in the queue: frames are handled one after the other. */
  #tail: Promise<void> = Promise.resolve();
  #faults = 0;
  readonly #frames = new FrameCount(framesMax, rateWindowMs);
  readonly #controls = new FrameCount(controlFramesMax, rateWindowMs);
  #missed = 0;
  /** It was closed; frames that still arrive are ignored. */
  #isOut = false;

  /** @param socket the one below the WebSocket: many frames fit in one write to it. */
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
        // A bug; one frame must not end the coordinator.
        this.#refused(error);
      }
    });
    this.#webSocket.on('pong', () => {
      this.#missed = 0;
      this.#countControlFrame();
    });
    // Each ping costs us an answer.
    this.#webSocket.on('ping', () => this.#countControlFrame());
    // A frame that is too large or malformed; the library closes with the matching code.
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

  onDrained(done: () => void): void {
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

  /** The key of the connection is no longer valid. */
  keyRefused(): void {
    this.#subscriber.end(closeCodes.keyRefused, 'the key is no longer valid');
  }

  /** @param text null when the frame is binary. */
  #receive(text: string | null): void {
    if (this.#frames.isOver(this.#clock.monotonic())) {
      this.#subscriber.end(closeCodes.policyViolation, 'too many frames');
      return;
    }
    const frame = text === null ? 'frames must be text, this one is binary' : parseClientFrame(text);
    if (typeof frame === 'string') {
      this.#fault('bad_frame', frame);
      return;
    }
    this.#tail = this.#tail.then(() => this.#handle(frame)).catch((error: unknown) => this.#refused(error));
  }

  #countControlFrame(): void {
    if (!this.#controls.isOver(this.#clock.monotonic())) return;
    this.#subscriber.end(closeCodes.policyViolation, 'too many pings');
  }

  /** @throws CoordinatorError job_not_found; forbidden for a topic that the role may not subscribe to. */
  async #handle(frame: LiveClientFrame): Promise<void> {
    const subscriber = this.#subscriber;
    if (frame.type === 'ping') {
      subscriber.sendFrame({ type: 'pong', server_time: iso(this.#clock.now()) });
    } else if (frame.type === 'unsubscribe') {
      subscriber.unsubscribe(frame.topics);
    } else if (new Set([...subscriber.topics, ...frame.topics]).size > topicsMax) {
      this.#fault('too_many_topics', `a connection may have ${topicsMax} topics; unsubscribe from some`);
    } else {
      // A number of an earlier start of the coordinator means nothing in this one.
      const isForeign = frame.epoch !== undefined && frame.epoch !== this.#live.feed.epoch;
      assertMaySubscribe(this.#principal.role, frame.topics);
      const since = frame.since === undefined ? null : isForeign ? 0 : frame.since;
      await subscriber.subscribe(frame.topics, since);
    }
  }

  #refused(error: unknown): void {
    this.#live.failed(error);
    const isOurs = error instanceof CoordinatorError && error.code !== 'internal_error';
    if (isOurs) this.#subscriber.sendFrame({ type: 'error', code: error.code, message: error.message });
    else this.#subscriber.end(closeCodes.tryAgainLater, 'the frame could not be handled');
  }

  /** A frame that breaks the protocol: each is reported, and too many close the connection. */
  #fault(code: string, message: string): void {
    this.#faults += 1;
    this.#subscriber.sendFrame({ type: 'error', code, message });
    if (this.#faults >= faultsMax) {
      this.#subscriber.end(closeCodes.policyViolation, 'too many bad frames');
    }
  }
}
