import type { Socket } from 'node:net';
import type { DispatchRules } from '../http/routes/jobs/schema.ts';
import { ClientConnection, type ConnectionHost } from './clientConnection.ts';
import type { DispatchRequest } from './dispatchRequest.ts';
import { responseOf, textOfMade } from './madeAnswer.ts';
import type { AskedJob, Caller, CoreTurn, FrontSettings } from './messages.ts';
import { placeOf } from './placeOf.ts';

/** Between two looks at how long connections have been waiting. */
const lookMs = 250;
/** A request that is not whole by then is the core's: it bounds the time of heads and bodies, and knows how to say so. */
const wholeMs = 1_000;
/** Node closes a quiet connection this much later than it says. */
const keepAliveMoreMs = 1_000;
/** Characters of one frame: the core reads it in some milliseconds. */
const frameMax = 256 * 1024;

export interface FrontConnectionsOptions {
  settings: FrontSettings;
  /** Send a frame to the core. */
  send: (text: string) => void;
  /** Give a connection to the core, with what its client has sent already, latin1. `onSent`: when it has left, which may take turns. */
  handOver: (socket: Socket, bytes: string, onSent: () => void) => void;
  /** Called when it was stopped and no connection is left. */
  onEmpty: () => void;
}

/** A turn of which the core has not been told. */
interface Turn {
  refused: number;
  closed: number[];
  callers: Caller[];
  /** Place of each in `callers`. */
  places: Map<string, number>;
  /** JSON of jobs. */
  jobs: string[];
  size: number;
}

/** All connections of a front: asks the core by turns of the event loop, answers, and bounds their number and their waits. */
export class FrontConnections implements ConnectionHost {
  readonly rules: DispatchRules;
  now = performance.now();
  isStopping = false;
  /** How long a client may read nothing of a response. */
  unreadMs = 60_000;
  readonly #options: FrontConnectionsOptions;
  readonly #open = new Map<number, ClientConnection>();
  #lastNumber = 0;
  /** Connections on their way to the core: it takes one in each turn of its event loop. */
  #leaving = 0;
  #turn: Turn | null = null;

  constructor(options: FrontConnectionsOptions) {
    this.#options = options;
    this.rules = { jobs: { priorities: options.settings.priorities } };
    setInterval(() => this.#look(), lookMs);
  }

  add(socket: Socket): void {
    const { connectionsMax } = this.#options.settings;
    if (this.isStopping || (this.#open.size + this.#leaving >= connectionsMax && !this.#cutOldest())) {
      socket.destroy();
      this.#turnNow().refused += 1;
      return;
    }
    this.#lastNumber += 1;
    const connection = new ClientConnection(this.#lastNumber, socket, this);
    this.#open.set(connection.number, connection);
  }

  ask(connection: ClientConnection, { head, bytes, text }: DispatchRequest): void {
    const turn = this.#turnNow();
    const { authorization, host, userAgent, forwardedFor, idempotencyKey } = head;
    const caller: Caller = { authorization, host, userAgent, forwardedFor, address: connection.address };
    const asked: Omit<AskedJob, 'request'> = {
      connection: connection.number,
      caller: placeOf(turn.places, turn.callers, nameOf(caller), caller),
      idempotencyKey,
      bytes,
    };
    connection.isKnown = true;
    const job = `${JSON.stringify(asked).slice(0, -1)},"request":${text}}`;
    turn.jobs.push(job);
    turn.size += job.length;
    if (turn.size > frameMax) this.#send(turn);
  }

  handOver(connection: ClientConnection, bytes: Buffer): void {
    this.closed(connection);
    if (connection.socket.destroyed) return;
    this.#leaving += 1;
    this.#options.handOver(connection.socket, bytes.toString('latin1'), () => {
      this.#leaving -= 1;
    });
  }

  closed({ number, isKnown }: ClientConnection): void {
    this.#open.delete(number);
    if (isKnown) this.#turnNow().closed.push(number);
    if (this.isStopping && this.#open.size === 0) setImmediate(this.#options.onEmpty);
  }

  /** Answer what the core has decided. */
  take(turn: CoreTurn): void {
    const { keepAliveMs } = this.#options.settings;
    const answer = (number: number, id: string, textFor: (connection: ClientConnection) => string): void => {
      const connection = this.#open.get(number);
      if (connection?.asked == null) return;
      connection.answer(responseOf(id, textFor(connection), connection.asked.head, keepAliveMs));
    };
    for (const made of turn.made)
      answer(made.connection, made.id, ({ asked }) =>
        asked === null ? '' : textOfMade(made, asked.request, turn),
      );
    for (const { connection, id, text } of turn.changed) answer(connection, id, () => text);
    for (const number of turn.returned) this.#open.get(number)?.handOver();
    for (const number of turn.cut) this.#open.get(number)?.socket.destroy();
  }

  /** Take no more connections, end those that wait for nothing, and the others with their answer. */
  stop(): void {
    this.isStopping = true;
    if (this.#open.size === 0) setImmediate(this.#options.onEmpty);
    for (const connection of [...this.#open.values()]) {
      if (connection.state === 'new' || connection.state === 'idle') connection.socket.destroy();
      else if (connection.state === 'partial') connection.handOver();
    }
  }

  #turnNow(): Turn {
    if (this.#turn !== null) return this.#turn;
    const turn: Turn = { refused: 0, closed: [], callers: [], places: new Map(), jobs: [], size: 0 };
    this.#turn = turn;
    setImmediate(() => {
      if (this.#turn === turn) this.#send(turn);
    });
    return turn;
  }

  #send({ refused, closed, callers, jobs }: Turn): void {
    this.#turn = null;
    const rest = JSON.stringify({ refused, closed, callers });
    this.#options.send(`${rest.slice(0, -1)},"jobs":[${jobs.join(',')}]}`);
  }

  #look(): void {
    this.now = performance.now();
    const { keepAliveMs } = this.#options.settings;
    for (const connection of [...this.#open.values()]) {
      const waitedMs = this.now - connection.since;
      switch (connection.state) {
        case 'new':
        case 'partial':
          if (waitedMs >= wholeMs) connection.handOver();
          break;
        case 'idle':
          if (waitedMs >= keepAliveMs + keepAliveMoreMs) connection.socket.destroy();
          break;
        case 'unread':
          if (!connection.isStuck()) connection.since = this.now;
          else if (waitedMs >= this.unreadMs) connection.socket.destroy();
          break;
        case 'asking':
        case 'gone':
          break;
      }
    }
  }

  /** Cut the connection that has been waiting for its first request for longest. @returns whether there was one. */
  #cutOldest(): boolean {
    for (const connection of this.#open.values()) {
      if (connection.state !== 'new' && (connection.state !== 'partial' || connection.isKnown)) continue;
      connection.socket.destroy();
      return true;
    }
    return false;
  }
}

/** Clients that share a key, a program and an address are one caller. */
function nameOf({ authorization, host, userAgent, forwardedFor, address }: Caller): string {
  return `${authorization}\n${host}\n${userAgent}\n${forwardedFor}\n${address}`;
}
