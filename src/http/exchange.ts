import type { ServerResponse } from 'node:http';
import { CoordinatorError } from '../domain/errors.ts';
import type { Principal } from '../domain/key.ts';
import type { Exchange } from '../lib/connections.ts';
import type { ShownError } from './door.ts';

/**
 * A request with a key, from its acceptance until its answer has left. It holds the response alone: a connection keeps the last
 * one until the next request, and must not keep its body.
 */
export class KeyedExchange implements Exchange {
  readonly principal: Principal;
  readonly #response: ServerResponse;
  readonly #present: (error: CoordinatorError) => ShownError;
  #gone: AbortController | null = null;
  #isHandedOver = false;

  /** @param present how this part of the API reports an error. */
  constructor(
    response: ServerResponse,
    principal: Principal,
    present: (error: CoordinatorError) => ShownError,
  ) {
    this.#response = response;
    this.principal = principal;
    this.#present = present;
  }

  get isOver(): boolean {
    return this.#isHandedOver || this.#response.writableFinished || this.#response.destroyed;
  }

  /** What answers from now on ends by itself with the key. */
  handOver(): void {
    this.#isHandedOver = true;
  }

  /**
   * A signal that is aborted when the client goes before its answer, or its key ends. Made only for handlers that ask for
   * it: aborting makes a DOMException with a stack, 16 µs that every request would pay.
   */
  whenGone(): AbortSignal {
    if (this.#gone !== null) return this.#gone.signal;
    const gone = new AbortController();
    this.#gone = gone;
    const response = this.#response;
    // It may have gone before anybody asked: the event comes once.
    if (response.destroyed) gone.abort();
    response.once('close', () => {
      if (!response.writableEnded) gone.abort();
    });
    return gone.signal;
  }

  /** The key has ended: answer 401 at once, or break off the answer that has begun. Whatever is answered later is dropped. */
  refuse(): void {
    const response = this.#response;
    if (response.headersSent) response.destroy();
    else {
      const error = new CoordinatorError(
        'authentication_failed',
        'Authentication failed: the key was taken back, or has expired, while the request was under way',
      );
      const { status, type, headers, text } = this.#present(error);
      response.statusCode = status;
      response.setHeader('Content-Type', type);
      for (const name in headers) response.setHeader(name, headers[name] ?? '');
      response.setHeader('WWW-Authenticate', 'Bearer');
      response.setHeader('Connection', 'close');
      response.end(text);
    }
    this.#gone?.abort();
  }
}
