import type { Socket } from 'node:net';
import type { JobRequest } from '../domain/job.ts';
import type { DispatchRules } from '../http/routes/jobs/schema.ts';
import {
  type DispatchHead,
  type DispatchRequest,
  KnownHead,
  readDispatch,
  requestMax,
} from './dispatchRequest.ts';

/** Bytes that are held of what a client sends while its last request is under way; beyond it nobody reads on. */
const aheadMax = 2 * requestMax;
/** Reads in which a request may come: each copies what came before it, and looks at all of it again. */
const piecesMax = 32;
const none = Buffer.alloc(0);

/** What a connection is waiting for: its client's first bytes, the next request or the rest of one, the core, its client to read. */
type State = 'new' | 'idle' | 'partial' | 'asking' | 'unread' | 'gone';

/** What a connection needs of its front. */
export interface ConnectionHost {
  readonly rules: DispatchRules;
  /** Monotonic ms; may be a quarter of a second old. */
  readonly now: number;
  readonly isStopping: boolean;
  /** Ask the core to make a job. */
  ask(connection: ClientConnection, request: DispatchRequest): void;
  /** It is another's from now on. @param bytes that its client has sent and nobody has answered. */
  handOver(connection: ClientConnection, bytes: Buffer): void;
  closed(connection: ClientConnection): void;
}

/**
 * A connection of a client at a front: reads dispatches from it, one at a time, and hands it over for anything else. What
 * it has handed over it never touches again.
 */
export class ClientConnection {
  readonly number: number;
  readonly socket: Socket;
  readonly address: string;
  state: State = 'new';
  /** When it came into its state, or its client last read something; monotonic ms. */
  since: number;
  /** Whether the core knows of it. */
  isKnown = false;
  /** The request that the core decides on. */
  asked: { head: DispatchHead; request: JobRequest } | null = null;
  readonly #host: ConnectionHost;
  /** What was read and not answered, the request under way included. */
  #bytes: Buffer = none;
  /** Of the request under way. */
  #askedBytes = 0;
  /** Reads since the last request. */
  #pieces = 0;
  #lastHead: KnownHead | null = null;
  #hasEnded = false;
  /** What the system had taken at the last look. */
  #writtenThen = 0;

  constructor(number: number, socket: Socket, host: ConnectionHost) {
    this.number = number;
    this.socket = socket;
    this.address = socket.remoteAddress ?? '';
    this.#host = host;
    this.since = host.now;
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => this.#end());
    // It closes then, and nobody is left to answer to.
    socket.on('error', () => {});
    socket.on('close', () => this.#close());
  }

  /** The whole response to what the core was asked. */
  answer(response: string): void {
    if (this.asked === null) return;
    const { isLast } = this.asked.head;
    this.asked = null;
    this.#bytes = this.#bytes.length === this.#askedBytes ? none : this.#bytes.subarray(this.#askedBytes);
    if (isLast || (this.#host.isStopping && this.#bytes.length === 0)) {
      this.socket.end(response, () => this.socket.destroy());
      this.#enter('unread');
    } else {
      // The event `drain` comes only after more than one such response.
      this.socket.write(response, () => {
        if (this.state === 'unread') this.#continue();
      });
      this.#continue();
    }
  }

  /** Let somebody else answer all that came, the request under way included: nothing was done with it. */
  handOver(): void {
    if (this.state === 'gone') return;
    this.asked = null;
    this.state = 'gone';
    this.socket.removeAllListeners();
    this.socket.on('error', () => {});
    // What was read while nobody took it. It may begin to read again, so that comes first.
    const unread: Buffer[] = [];
    for (let part = this.socket.read(); part !== null; part = this.socket.read()) unread.push(part);
    stopReading(this.socket);
    this.#host.handOver(this, Buffer.concat([this.#bytes, ...unread]));
  }

  /** Whether an unread response has not moved since the last call. */
  isStuck(): boolean {
    const written = this.socket.bytesWritten - this.socket.writableLength;
    const isStuck = written === this.#writtenThen;
    this.#writtenThen = written;
    return isStuck;
  }

  #read(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    this.#pieces += 1;
    if (this.state === 'asking' || this.state === 'unread') {
      if (this.#bytes.length > aheadMax) this.socket.pause();
      return;
    }
    this.#next();
  }

  /** The response has left the process, or its client has read enough of it. */
  #continue(): void {
    if (this.state === 'gone' || this.asked !== null) return;
    if (this.socket.writableLength > 0) {
      if (this.state !== 'unread') this.#enter('unread');
      return;
    }
    if (this.socket.isPaused()) this.socket.resume();
    if (this.#bytes.length > 0) this.#next();
    else if (this.#hasEnded || this.#host.isStopping) this.socket.end(() => this.socket.destroy());
    else this.#enter('idle');
  }

  #next(): void {
    const read = readDispatch(this.#bytes, this.#host.rules, this.#lastHead);
    if (read === 'other' || (read === 'partial' && (this.#hasEnded || this.#pieces > piecesMax))) {
      this.handOver();
      return;
    }
    if (read === 'partial') {
      if (this.state !== 'partial') this.#enter('partial');
      return;
    }
    if (this.#lastHead?.head !== read.head) this.#lastHead = new KnownHead(this.#bytes, read);
    this.asked = read;
    this.#pieces = 0;
    this.#askedBytes = read.bytes;
    this.#enter('asking');
    this.#host.ask(this, read);
  }

  /** The client sends no more; it may still read. */
  #end(): void {
    this.#hasEnded = true;
    if (this.state === 'partial') this.handOver();
    else if (this.state === 'new' || this.state === 'idle') this.socket.end(() => this.socket.destroy());
  }

  #enter(state: State): void {
    this.state = state;
    this.since = this.#host.now;
  }

  #close(): void {
    if (this.state === 'gone') return;
    this.state = 'gone';
    this.asked = null;
    this.#host.closed(this);
  }
}

/**
 * Stop at once: what the client sends from now on stays in the system, for the process that gets the connection. A paused
 * socket would read on until its buffer is full. Node keeps the handle in a private field; tests (an upload in parts,
 * requests behind another) notice when its name changes.
 */
function stopReading(socket: Socket): void {
  socket.pause();
  const handle: unknown = '_handle' in socket ? socket._handle : null;
  if (typeof handle !== 'object' || handle === null || !('readStop' in handle)) return;
  if (typeof handle.readStop === 'function') handle.readStop();
  // The stream begins to read again where it finds that nobody does.
  if ('reading' in handle) handle.reading = true;
}
