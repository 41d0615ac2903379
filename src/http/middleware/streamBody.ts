import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import type { Middleware } from 'koa';
import { CoordinatorError, messageOf } from '../../domain/errors.ts';
import type { Principal } from '../../domain/key.ts';
import type { Connections } from '../../lib/connections.ts';
import { holderOf } from '../../lib/places.ts';
import type { KeyedExchange } from '../exchange.ts';
import { answerUnread } from '../lingering.ts';
import type { Upload, Uploads } from '../uploads.ts';
import { invalid } from './readBody.ts';

/** What a body takes while it passes through: a piece that has come, and the one before it that is being written. */
const passingBytes = 2 * 64 * 1024;

/** A body that is handed on as it comes, and that nobody holds whole. */
export interface BodyStream {
  /**
   * Hand every byte to `sink`, no faster than it takes them, and end it.
   * @param limits.maxBytes of the whole body. @param limits.maxName the setting that says so.
   * @param onEnd called once, with null when `sink` has got all of it, or with the error after which it gets no more:
   * payload_too_large, request_timeout (it came too slowly), invalid_request (it broke off, or its key has ended),
   * share_exceeded, rate_limited.
   * @returns stops it; the request is left paused at what it sent next.
   */
  into(
    sink: Writable,
    limits: { maxBytes: number; maxName: string },
    onEnd: (error: unknown) => void,
  ): () => void;
}

/**
 * Leaves the body in the request; a `BodyStream` as `ctx.request.body` reads it. It may take longer than
 * `http.body_timeout_seconds` as long as it moves: `http.upload_min_bytes_per_second` applies.
 * @throws CoordinatorError unsupported_media_type for one with a Content-Encoding.
 */
export function streamBody(parts: { uploads: Uploads; connections: Connections }): Middleware {
  return async (ctx, next) => {
    if (ctx.get('Content-Encoding') !== '')
      throw new CoordinatorError('unsupported_media_type', 'The body must come without a Content-Encoding');
    const exchange: KeyedExchange = ctx.state.exchange;
    const body = new RequestStream(ctx.req, ctx.state.principal, exchange.whenGone(), parts.uploads);
    ctx.request.body = body;
    parts.connections.setUploading(ctx.req.socket, true);
    try {
      await next();
      if (typeof ctx.body === 'string' && !ctx.req.readableEnded) answerUnread(ctx, ctx.body);
    } finally {
      body.close();
      parts.connections.setUploading(ctx.req.socket, false);
    }
  };
}

class RequestStream implements BodyStream {
  readonly #request: IncomingMessage;
  readonly #principal: Principal;
  readonly #gone: AbortSignal;
  readonly #uploads: Uploads;
  #stop: () => void = () => {};

  constructor(request: IncomingMessage, principal: Principal, gone: AbortSignal, uploads: Uploads) {
    this.#request = request;
    this.#principal = principal;
    this.#gone = gone;
    this.#uploads = uploads;
  }

  into(
    sink: Writable,
    { maxBytes, maxName }: { maxBytes: number; maxName: string },
    onEnd: (error: unknown) => void,
  ): () => void {
    const request = this.#request;
    let upload: Upload | null = null;
    let isOver = false;
    const stop = (): void => {
      isOver = true;
      upload?.release();
      request.unpipe(sink);
      request.pause();
    };
    const failWith = (error: unknown): void => {
      if (isOver) return;
      stop();
      onEnd(error);
    };
    this.#stop = () => {
      if (!isOver) stop();
    };
    const tooLarge = () =>
      new CoordinatorError(
        'payload_too_large',
        `The body is larger than the ${maxBytes} bytes that ${maxName} allows`,
      );
    const gone = () => failWith(invalid('The body broke off: the client has gone, or its key has ended'));
    // A sink that takes nothing more is slow, not its client.
    const isHeldUp = () => request.isPaused();
    upload = this.#uploads.begin(holderOf(this.#principal), failWith, isHeldUp);
    try {
      if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
      upload.take(passingBytes);
    } catch (error) {
      failWith(error);
      return this.#stop;
    }
    request
      .on('data', (part: Buffer) => {
        if (isOver) return;
        upload.moved += part.length;
        if (upload.moved > maxBytes) failWith(tooLarge());
      })
      .on('end', () => {
        if (isOver) return;
        isOver = true;
        upload.release();
        onEnd(null);
      })
      .on('error', (error) => failWith(invalid(`The body broke off: ${messageOf(error)}`)));
    this.#gone.addEventListener('abort', gone, { once: true });
    if (this.#gone.aborted) gone();
    else request.pipe(sink);
    return this.#stop;
  }

  /** Whoever read it has ended. */
  close(): void {
    this.#stop();
  }
}
