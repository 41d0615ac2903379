import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '../../domain/clock.ts';
import { messageOf } from '../../domain/errors.ts';

/**
 * How long each part of a request may take, milliseconds. All of them are ours: `fetch` would end every request whose
 * headers do not come within 300 s, and a model that is being loaded takes longer.
 */
export interface Timeouts {
  connectMs: number;
  /** From the connection to the first byte of the answer's body. */
  firstMs: number;
  /** Between two pieces of the body. */
  idleMs: number;
}

/** The request could not be made, or its answer broke off. The message holds nothing of what was sent. */
export class HttpFailure extends Error {
  readonly kind: 'network' | 'timeout';
  /** ECONNREFUSED and the like; null when the system gave none. */
  readonly code: string | null;

  constructor(kind: HttpFailure['kind'], message: string, code: string | null = null) {
    super(message);
    this.name = 'HttpFailure';
    this.kind = kind;
    this.code = code;
  }
}

export interface StreamRequest {
  method: 'GET' | 'POST';
  url: URL;
  headers: Record<string, string>;
  body?: string;
  /** Closes the socket. */
  signal: AbortSignal;
  clock: Clock;
  timeouts: Timeouts;
}

export interface StreamAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body in pieces of text. Whoever stops reading closes the socket. @throws HttpFailure. */
  body: AsyncIterable<string>;
}

/**
 * Send a request over a connection of its own (one that was kept alive may just be closed by the other side) and hand
 * over the answer as it comes. @throws HttpFailure; the reason of the signal when it was aborted.
 */
export async function openStream(options: StreamRequest): Promise<StreamAnswer> {
  options.signal.throwIfAborted();
  const { url, method, headers, body, signal } = options;
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const request = send(url, { method, headers: { ...headers, ...length }, agent: false });
  let response: IncomingMessage | null = null;
  // A request whose answer has begun would tell the reader of a reset, whatever it is destroyed with.
  const close = (failure: HttpFailure): void => void (response ?? request).destroy(failure);
  const watch = new Watch(options.clock, (message) => close(new HttpFailure('timeout', message)));
  const onAbort = (): void => close(new HttpFailure('network', 'aborted'));
  signal.addEventListener('abort', onAbort, { once: true });
  const end = (): void => {
    watch.end();
    signal.removeEventListener('abort', onAbort);
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once('response', resolve);
  // It may come again after the answer has begun: then it is the reader's.
  request.on('error', reject);
  request.once('close', end);
  const { connectMs, firstMs } = options.timeouts;
  watch.within(connectMs, `no connection within ${connectMs / 1000} s`);
  request.once('socket', (socket) => {
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () =>
      watch.within(firstMs, `nothing was answered within ${firstMs / 1000} s`),
    );
  });
  request.end(body);
  try {
    response = await promise;
    const { statusCode: status = 0, headers: answered } = response;
    return { status, headers: answered, body: pieces(response, watch, options) };
  } catch (error) {
    throw failureOf(error, signal);
  }
}

async function* pieces(
  response: IncomingMessage,
  watch: Watch,
  { signal, timeouts: { idleMs } }: StreamRequest,
): AsyncGenerator<string> {
  try {
    for await (const piece of response.setEncoding('utf8')) {
      // The pause is the reader's while it has the piece.
      watch.end();
      yield String(piece);
      watch.within(idleMs, `nothing more came within ${idleMs / 1000} s`);
    }
  } catch (error) {
    throw failureOf(error, signal);
  } finally {
    watch.end();
    response.destroy();
  }
}

function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof HttpFailure) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : null;
  const words: Record<string, string> = {
    ECONNREFUSED: 'the connection was refused',
    ECONNRESET: 'the connection broke off',
    ENOTFOUND: 'there is no such host',
  };
  // Refused on both address families it has an empty message.
  const message = words[code ?? ''] ?? (messageOf(error) || (code ?? 'the connection failed'));
  return new HttpFailure('network', code === null ? message : `${message} (${code})`, code);
}

/** One deadline at a time. */
class Watch {
  readonly #clock: Clock;
  readonly #onLate: (message: string) => void;
  #takeBack: (() => void) | null = null;

  constructor(clock: Clock, onLate: (message: string) => void) {
    this.#clock = clock;
    this.#onLate = onLate;
  }

  within(ms: number, message: string): void {
    this.end();
    this.#takeBack = this.#clock.after(ms, () => this.#onLate(message));
  }

  end(): void {
    this.#takeBack?.();
    this.#takeBack = null;
  }
}

/** Text in pieces as lines, without their ends; the last one may lack one. @throws HttpFailure for an endless line. */
export async function* linesOf(body: AsyncIterable<string>, lengthMax: number): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of body) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > lengthMax)
      throw new HttpFailure('network', `a line is longer than ${lengthMax} characters`);
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** The begin of a body, for an error's message. */
export async function beginOf(body: AsyncIterable<string>, lengthMax: number): Promise<string> {
  let text = '';
  for await (const piece of body) {
    text += piece;
    if (text.length >= lengthMax) break;
  }
  return text.slice(0, lengthMax);
}
