import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import type { LiveConfig } from '../config/liveConfig.ts';
import type { DispatchParts } from './dispatchTurns.ts';
import { Front } from './front.ts';
import type { FrontSettings } from './messages.ts';

/** With fewer processors a front would only take time from the core, and from what else the machine does. */
const processorsMin = 4;
/** What the core itself and the disk's threads need. */
const processorsOfCore = 2;
/** Four fronts parse more than one core decides. */
const frontsMaxByDefault = 4;
/** Between the end of a front and its next start, ms; doubled while it does not come to listen. */
const pauseMs = { first: 50, last: 5_000 };
/** How long fronts may take to end. */
const endMsMax = 1_500;

/** How many fronts there are to be, where the configuration leaves it open. */
export function frontsByDefault(processors = availableParallelism()): number {
  return processors < processorsMin ? 0 : Math.min(processors - processorsOfCore, frontsMaxByDefault);
}

export interface FrontsOptions {
  count: number;
  port: number;
  /** How long a connection may be quiet between two requests, ms. */
  keepAliveMs: number;
  parts: DispatchParts;
  live: LiveConfig;
  /** Gets the connections that the fronts hand over. It listens on the same port, shared, until all of them do. */
  server: Server;
}

/** The fronts of a service: keeps as many running as there are to be. */
export class Fronts {
  readonly #options: FrontsOptions;
  readonly #settings: FrontSettings;
  /** By place. */
  readonly #fronts = new Map<number, Front>();
  /** Connections that were handed over and are open. */
  readonly #handedOver = new Set<Socket>();
  readonly #cancels = new Map<number, () => void>();
  #isStopping = false;

  constructor(options: FrontsOptions) {
    this.#options = options;
    const { live, port, keepAliveMs } = options;
    const { host, jobs, http } = live.current;
    const { priorities } = jobs;
    this.#settings = { host, port, priorities, keepAliveMs, connectionsMax: http.maxConnections };
    live.onChange(() => {
      for (const front of this.#fronts.values()) front.unreadMs = this.#unreadMs;
    });
  }

  /** Start them; resolves when all of them listen and the server takes no more connections itself, or when one cannot listen. */
  async start(): Promise<void> {
    const { count, server, parts } = this.#options;
    const begun = await Promise.all(
      Array.from({ length: count }, (_, place) => this.#start(place, pauseMs.first)),
    );
    if (this.#isStopping) return;
    if (begun.includes(false)) {
      parts.logger.warn('not every front has started; the core takes connections too');
      return;
    }
    // No process is being forked now, which would hold the socket open, and connections in it, until it runs another program.
    // Only the listening ends: its own `close` would also stop to look for requests that are late.
    NetServer.prototype.close.call(server);
    parts.logger.info({ fronts: count }, 'fronts are listening');
  }

  /** Processes of the fronts, for tests and figures. */
  get pids(): number[] {
    return [...this.#fronts.values()].flatMap(({ pid }) => pid ?? []);
  }

  /** Take no more connections, and answer what is under way; late fronts are killed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const cancel of this.#cancels.values()) cancel();
    const fronts = [...this.#fronts.values()];
    for (const front of fronts) front.stop();
    const cancel = this.#options.parts.clock.after(endMsMax, () => this.close());
    await Promise.all(fronts.map(({ ended }) => ended));
    cancel();
  }

  /** Resolves when every connection that was handed over is closed. */
  async handedOverEnd(): Promise<void> {
    const closed = [...this.#handedOver].map(
      (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    await Promise.all(closed);
  }

  /** End them at once. */
  close(): void {
    this.#isStopping = true;
    for (const cancel of this.#cancels.values()) cancel();
    for (const front of this.#fronts.values()) front.kill();
  }

  get #unreadMs(): number {
    return this.#options.live.current.http.unreadTimeoutSeconds * 1000;
  }

  /** @returns whether it listens. */
  async #start(place: number, afterMs: number): Promise<boolean> {
    const { parts, server } = this.#options;
    const { logger } = parts;
    const front = new Front({
      settings: this.#settings,
      parts,
      onConnection: (socket) => {
        parts.metrics.frontHandedOver();
        this.#handedOver.add(socket);
        socket.once('close', () => this.#handedOver.delete(socket));
        server.emit('connection', socket);
      },
    });
    this.#fronts.set(place, front);
    front.unreadMs = this.#unreadMs;
    const begun = await front.begun;
    if (!begun.isListening && !this.#isStopping)
      logger.error({ front: place, code: begun.code, detail: begun.detail }, 'a front could not start');
    void front.ended.then((how) => {
      if (this.#isStopping) return;
      if (begun.isListening) logger.error({ front: place, how }, 'a front has ended; it is started again');
      this.#again(place, begun.isListening ? pauseMs.first : Math.min(2 * afterMs, pauseMs.last));
    });
    return begun.isListening;
  }

  #again(place: number, afterMs: number): void {
    const cancel = this.#options.parts.clock.after(afterMs, () => {
      this.#cancels.delete(place);
      void this.#start(place, afterMs);
    });
    this.#cancels.set(place, cancel);
  }
}
