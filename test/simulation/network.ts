import { EventEmitter } from 'node:events';
import type { Socket } from '../../src/lib/socket.ts';
import type { Dial } from '../../src/worker/dial.ts';
import type { SimProcess, Timeline } from '../support/timeline.ts';
import type { Dice } from './dice.ts';

/** Of an end without a closing handshake (RFC 6455, 7.1.5). */
const abnormal = 1006;
/** A closing handshake that the other side does not answer is given up after this, as `ws` does. */
const closeTimeoutMs = 30_000;
/** An upgrade that is not answered in this time is given up. */
const handshakeMs = 10_000;

/** How connections behave. Rates are shares of frames, 0..1. */
export interface NetworkFaults {
  fastMs: number;
  slowMs: number;
  lost: number;
  doubled: number;
  /** Frames that later ones overtake. */
  late: number;
  /** Frames at which the connection breaks, told to both sides. */
  cut: number;
}

/** What is asked of the other side of an upgrade. */
export interface Listener {
  process: SimProcess;
  /** Take the connection, or give the status that refuses it. */
  accept(socket: Socket, apiKey: string): number | null;
}

class SimSocket extends EventEmitter implements Socket {
  readyState = 0;
  readonly bufferedAmount = 0;
  peer: SimSocket | null = null;
  readonly process: SimProcess;
  readonly #network: Network;
  /** When the last frame arrives on the other side: frames stay in order. */
  #lastAt = 0;

  constructor(network: Network, process: SimProcess) {
    super();
    this.#network = network;
    this.process = process;
  }

  send(text: string): void {
    if (this.readyState !== 1 || !this.process.isAlive) return;
    for (const delay of this.#network.fates(this)) this.#deliver(delay, text);
  }

  close(code: number, reason: string): void {
    if (this.readyState !== 1) return;
    this.readyState = 2;
    this.#network.timeline.after(this.process, closeTimeoutMs, () => this.ended(abnormal, ''));
    const { peer } = this;
    if (peer === null) return;
    this.#toPeer(() => {
      peer.ended(code, reason);
      this.#network.later(this.process, () => this.ended(code, reason));
    });
  }

  terminate(): void {
    if (this.readyState === 3) return;
    this.readyState = 2;
    this.#network.timeline.after(this.process, 1, () => this.ended(abnormal, ''));
    const { peer } = this;
    if (peer !== null) this.#toPeer(() => peer.ended(abnormal, ''));
  }

  /** The connection is gone on this side. */
  ended(code: number, reason: string): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.#network.forget(this);
    this.emit('close', code, reason);
  }

  opened(): void {
    this.readyState = 1;
    this.emit('open');
  }

  #deliver(delayMs: number, text: string): void {
    const { peer } = this;
    const { timeline } = this.#network;
    if (peer === null) return;
    const inOrder = delayMs >= 0;
    const at = Math.max(this.#network.openAt + Math.abs(delayMs), inOrder ? this.#lastAt : 0);
    if (inOrder) this.#lastAt = at;
    this.#network.carry(peer.process, at - timeline.now, () => {
      if (peer.readyState === 3) {
        // Nobody is there any more: the system of the other side answers with a reset.
        this.#network.later(this.process, () => this.ended(abnormal, ''));
        return;
      }
      this.#network.onFrame(this.process.name, peer.process.name, text);
      peer.emit('message', text, false);
    });
  }

  /** Something that comes after all frames sent so far. */
  #toPeer(task: () => void): void {
    const { peer } = this;
    if (peer === null) return;
    const delayMs = Math.max(this.#network.delay(), this.#lastAt - this.#network.timeline.now);
    this.#network.carry(peer.process, delayMs, task);
  }
}

/** The network between the workers and the coordinator. */
export class Network {
  faults: NetworkFaults;
  /** Until then nothing gets through, and nobody is told (a black hole); what was sent arrives after it, as TCP has it. */
  darkUntil = 0;
  /** Told of every frame that arrives. */
  onFrame: (from: string, to: string, text: string) => void = () => {};
  readonly timeline: Timeline;
  #listener: Listener | null = null;
  readonly #dice: Dice;
  readonly #sockets = new Set<SimSocket>();

  constructor(timeline: Timeline, faults: NetworkFaults, dice: Dice) {
    this.timeline = timeline;
    this.faults = faults;
    this.#dice = dice;
  }

  listen(listener: Listener | null): void {
    this.#listener = listener;
  }

  delay(): number {
    return this.#dice.spread(this.faults.fastMs, this.faults.slowMs);
  }

  /** When something that is sent now gets through at the earliest. */
  get openAt(): number {
    return Math.max(this.timeline.now, this.darkUntil);
  }

  /** Run `task` in a process when a message from elsewhere has had time to get there. */
  later(process: SimProcess, task: () => void): void {
    this.carry(process, this.delay(), task);
  }

  /** Run `task` in a process in `delayMs`, or when the network is open again. */
  carry(process: SimProcess, delayMs: number, task: () => void): void {
    this.timeline.after(process, delayMs, () => {
      const leftMs = this.darkUntil - this.timeline.now;
      if (leftMs > 0) this.carry(process, leftMs, task);
      else task();
    });
  }

  /** The way that a process takes to the coordinator. */
  dialFrom(process: SimProcess): Dial {
    return (_url, apiKey, onRefused) => {
      const client = new SimSocket(this, process);
      this.#sockets.add(client);
      const fail = () => {
        if (client.readyState !== 0) return;
        client.emit('error', new Error('the connection was refused'));
        client.ended(abnormal, '');
      };
      this.timeline.after(process, handshakeMs, fail);
      const listener = this.#listener;
      if (listener === null || !listener.process.isAlive) {
        this.later(process, fail);
        return client;
      }
      this.later(listener.process, () => {
        if (client.readyState === 0) this.#upgrade(client, listener, apiKey, onRefused);
      });
      return client;
    };
  }

  #upgrade(client: SimSocket, listener: Listener, apiKey: string, onRefused: Parameters<Dial>[2]): void {
    const server = new SimSocket(this, listener.process);
    server.peer = client;
    client.peer = server;
    server.readyState = 1;
    const status = listener.accept(server, apiKey);
    if (status === null) this.#sockets.add(server);
    this.later(client.process, () => {
      if (client.readyState !== 0) return;
      if (status === null) {
        client.opened();
        return;
      }
      onRefused(status, {});
      client.ended(abnormal, '');
    });
  }

  /** The delays of a frame's copies, ms; a negative one may be overtaken. Breaks the connection if it comes to that. */
  fates(socket: SimSocket): number[] {
    const { lost, doubled, late, cut } = this.faults;
    const dice = this.#dice;
    if (dice.chance(cut)) {
      this.#cut(socket);
      return [];
    }
    if (dice.chance(lost)) return [];
    const first = dice.chance(late) ? -5 * this.delay() : this.delay();
    return dice.chance(doubled) ? [first, -3 * this.delay()] : [first];
  }

  /** The end of a process or of the way between: every other side of its connections is told, unless it is dark. */
  reset(process: SimProcess): void {
    for (const socket of [...this.#sockets]) {
      if (socket.process === process) this.#cut(socket);
    }
  }

  /** Break every connection. */
  resetAll(): void {
    for (const socket of [...this.#sockets]) this.#cut(socket);
  }

  forget(socket: SimSocket): void {
    this.#sockets.delete(socket);
  }

  #cut(socket: SimSocket): void {
    for (const side of [socket, socket.peer]) {
      if (side === null) continue;
      this.#sockets.delete(side);
      if (side.readyState === 1) side.readyState = 2;
      this.later(side.process, () => side.ended(abnormal, ''));
    }
  }
}
