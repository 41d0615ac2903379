import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, pause, type Siege } from './attacker.ts';

const answerMsMax = 60_000;
const textMax = 256 * 1024;
const pieceBytes = 64 * 1024;
const agent = new Agent({ keepAlive: true });

/** Bytes to send: a start, one piece again and again, an end. So 64 MiB take no memory here. */
export interface Body {
  start: string;
  piece: Buffer;
  times: number;
  end: string;
}

export interface Ask {
  method?: 'GET' | 'POST' | 'DELETE';
  path: string;
  type?: string;
  body?: Body | string;
  /** In place of the siege's own; null: none. */
  key?: string | null;
  headers?: Record<string, string>;
  /** Read the answer so slowly, bytes a second. */
  bytesPerSecond?: number;
}

export interface Answer {
  /** The status, with the code of the problem where it is one. */
  outcome: string;
  status: number;
  /** The beginning of the answer. */
  text: string;
}

export function bodyOf(start: string, unit: string, bytes: number, end: string): Body {
  const piece = Buffer.from(unit.repeat(Math.max(1, Math.floor(pieceBytes / unit.length))));
  return { start, piece, times: Math.max(1, Math.round(bytes / piece.length)), end };
}

function lengthOf({ start, piece, times, end }: Body): number {
  return Buffer.byteLength(start) + piece.length * times + Buffer.byteLength(end);
}

/** One whole request. @throws an error of the network. */
export async function ask(siege: Siege, options: Ask): Promise<Answer> {
  const { method = 'GET', path, body, type = 'application/json', key = siege.key } = options;
  const whole = typeof body === 'string' ? { start: body, piece: Buffer.alloc(0), times: 0, end: '' } : body;
  const headers: Record<string, string | number> = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...(whole === undefined ? {} : { 'content-type': type, 'content-length': lengthOf(whole) }),
    ...options.headers,
  };
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = request(
    { host: siege.host, port: siege.port, localAddress: siege.from, method, path, headers, agent },
    (answer) => {
      const slow = options.bytesPerSecond;
      const { statusCode: status = 0 } = answer;
      let text = '';
      answer.setEncoding('latin1');
      answer.on('data', (chunk: string) => {
        if (text.length < textMax) text += chunk;
        if (slow === undefined) return;
        answer.pause();
        setTimeout(() => answer.resume(), (chunk.length / slow) * 1000);
      });
      answer.on('end', () => resolve({ outcome: outcomeOf(status, text), status, text }));
      answer.on('error', () => resolve({ outcome: `${status} cut off`, status, text }));
    },
  );
  const stop = () => sent.destroy(new Error('the siege is over'));
  siege.over.addEventListener('abort', stop);
  sent.setTimeout(answerMsMax, () => sent.destroy(new Error(`no answer in ${answerMsMax / 1000} s`)));
  sent.on('error', reject);
  try {
    if (whole !== undefined) await write(sent, whole, promise);
    sent.end();
    return await promise;
  } finally {
    siege.over.removeEventListener('abort', stop);
  }
}

/** The outcome of a request: its status and the code of the problem. */
export async function outcome(siege: Siege, options: Ask): Promise<string> {
  return (await ask(siege, options)).outcome;
}

function outcomeOf(status: number, text: string): string {
  const code = status < 400 ? undefined : /"code":"([a-z_]+)"/.exec(text)?.[1];
  return code === undefined ? String(status) : `${status} ${code}`;
}

/** Write a body no faster than it is taken; an answer that comes before its end is the end of it. */
async function write(
  stream: Writable,
  { start, piece, times, end }: Body,
  answered: Promise<unknown>,
): Promise<void> {
  let isOver = false;
  const settle = (): void => {
    isOver = true;
  };
  const over = answered.then(settle, settle);
  stream.write(start);
  for (let count = 0; count < times && !isOver && !stream.destroyed; count++) {
    if (stream.write(piece)) continue;
    await Promise.race([over, new Promise((resolve) => stream.once('drain', resolve))]);
  }
  if (!isOver && !stream.destroyed) stream.write(end);
}

/** A connection of raw bytes. */
export class Raw {
  readonly socket: Socket;
  #text = '';
  readonly #closed: Promise<string>;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      if (this.#text.length < 4_096) this.#text += text;
    });
    this.#closed = new Promise((resolve) => {
      let error = 'closed';
      socket.on('error', (cause) => (error = codeOf(cause)));
      socket.once('close', () => resolve(error));
    });
  }

  /** @throws an error of the network. */
  static async open(siege: Siege): Promise<Raw> {
    const socket = connect({ host: siege.host, port: siege.port, localAddress: siege.from });
    const raw = new Raw(socket);
    const stop = () => socket.destroy();
    siege.over.addEventListener('abort', stop);
    socket.once('close', () => siege.over.removeEventListener('abort', stop));
    await Promise.race([
      once(socket, 'connect'),
      raw.#closed.then((cause) => {
        throw new Error(cause);
      }),
    ]);
    return raw;
  }

  /** The head of a request. */
  static head(siege: Siege, line: string, headers: Record<string, string | number> = {}): string {
    const all = {
      host: `${siege.host}:${siege.port}`,
      ...(siege.key === null ? {} : { authorization: `Bearer ${siege.key}` }),
      ...headers,
    };
    return `${[`${line} HTTP/1.1`, ...Object.entries(all).map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n\r\n`;
  }

  write(data: string | Buffer): boolean {
    return this.socket.write(data);
  }

  async writeBody(body: Body): Promise<void> {
    await write(this.socket, body, this.#closed);
  }

  /** Stay until the other side ends it, at most so long, and end it then. @returns the status, and who ended it. */
  async hold(ms: number): Promise<string> {
    const limit = new AbortController();
    const held = sleep(ms, 'held', { signal: limit.signal }).catch(() => 'held');
    const end = await Promise.race([held, this.#closed]);
    limit.abort();
    this.socket.destroy();
    const status = /^HTTP\/1\.1 (\d{3})/.exec(this.#text)?.[1];
    return status === undefined ? end : `${status} ${end}`;
  }

  /** Read nothing for so long, then see whether there is still somebody at the other end. */
  async starve(ms: number, over: AbortSignal): Promise<string> {
    this.socket.pause();
    await pause(ms, over);
    this.socket.resume();
    // What the kernel has kept comes first; a cut connection ends after it.
    const end = await Promise.race([this.#closed, sleep(2_000, 'held')]);
    this.socket.destroy();
    const status = /^HTTP\/1\.1 (\d{3})/.exec(this.#text)?.[1] ?? '';
    return `${status} ${end}`.trim();
  }
}
