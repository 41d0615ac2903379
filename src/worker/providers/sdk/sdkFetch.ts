import type { Readable } from 'node:stream';
import type { Clock } from '../../../domain/clock.ts';
import { frameBytesMax } from '../../../domain/workerProtocol.ts';
import { type Fields, parseFields } from '../../../lib/fields.ts';
import { version } from '../../../lib/version.ts';
import type { ErrorResponse } from '../errors/classify.ts';
import { HttpFailure, httpFailureOf } from '../http/httpFailure.ts';
import { openStream } from '../http/openStream.ts';
import { beginOf, tooLongLine } from '../http/readBody.ts';
import type { TimeoutWatch } from '../http/timeoutWatch.ts';
import { withQuery } from '../models/modelList.ts';
import type { Dialect } from './dialect.ts';

const errorBodyMax = 64 * 1024;
/** The end of the body follows the last event closely; then the connection can be reused. */
const lingerMs = 500;
/** A token count arrives with the end of the answer or shortly after. */
const quietMs = 5_000;

/** The answer was not a stream. Thrown through the SDK, which passes it on unchanged. */
export class NoStream extends Error {
  readonly refusal: ErrorResponse;
  /** `application/json` and the like. */
  readonly contentType: string;

  constructor(refusal: ErrorResponse, contentType: string) {
    super('not answered with a stream');
    this.refusal = refusal;
    this.contentType = contentType;
  }
}

/** The parts of a call that the fetch handles. */
interface FetchCall {
  /** Changes the SDK's body into the body to send. */
  amend: (body: Fields) => Fields;
  dialect: Dialect;
  /** Of the configured address; added to every request. */
  query?: string;
  /** Configured ones; they replace those of the SDK. */
  headers?: Readonly<Record<string, string>>;
}

/**
 * Replaces `fetch` in an SDK, for one run: with our timeouts instead of Node's, without redirects, and it closes the
 * socket when the run is stopped. It records how the connection ended, whatever the SDK makes of that.
 */
export class SdkFetch {
  readonly #watch: TimeoutWatch;
  readonly #clock: Clock;
  readonly #call: FetchCall;
  /** Why the answer is missing or incomplete; null otherwise. */
  failure: HttpFailure | null = null;
  /** The answer when it was not a stream. */
  noStream: NoStream | null = null;
  /** `data: [DONE]` was received: OpenAI's end of stream. */
  isDone = false;
  /** An answer has begun. */
  hasBegun = false;
  /** The start of an answer that is not an event stream; null when it is one. */
  garbage: string | null = null;
  #body: Readable | null = null;
  #endStream = (): void => {};
  #takeBackEnd = (): void => {};

  constructor(watch: TimeoutWatch, clock: Clock, call: FetchCall) {
    this.#watch = watch;
    this.#clock = clock;
    this.#call = call;
  }

  /** @throws NoStream, HttpFailure. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    try {
      const { status, headers, body } = await openStream({
        method: 'POST',
        url: withQuery(new URL(input instanceof Request ? input.url : input), this.#call.query ?? ''),
        headers: headersOf(init?.headers, this.#call.headers ?? {}),
        body: this.#bodyOf(init?.body),
        watch: this.#watch,
      });
      const contentType = String(headers['content-type'] ?? '').toLowerCase();
      if (status !== 200 || /^(application\/json|text\/html)/.test(contentType)) {
        const text = await beginOf(body, status === 200 ? frameBytesMax : errorBodyMax);
        const events = status === 200 ? this.#wholeAnswer(text) : null;
        if (events !== null) return streamResponse(events);
        throw new NoStream({ status, headers, body: text }, contentType.split(';')[0] ?? '');
      }
      return streamResponse(this.#stream(body));
    } catch (error) {
      if (error instanceof NoStream) this.noStream = error;
      else this.failure = httpFailureOf(error);
      throw error;
    }
  };

  /** Nothing relevant will follow: the SDK need not wait for the end of the connection. */
  endStream(): void {
    this.#endStream();
  }

  /** The same when nothing follows soon. Called at every event. @param isWhole whether silence now means the end. */
  endWhenQuiet(isWhole: boolean): void {
    this.#takeBackEnd();
    this.#takeBackEnd = isWhole ? this.#clock.after(quietMs, () => this.#endStream()) : () => {};
  }

  /** The run is over. Closes a connection that does not end by itself. */
  close(): void {
    this.#takeBackEnd();
    const body = this.#body;
    if (body === null || body.closed || body.readableEnded) return;
    const takeBack = this.#clock.after(lingerMs, () => body.destroy());
    body.once('close', takeBack);
    body.resume();
  }

  #bodyOf(body: unknown): string {
    if (typeof body !== 'string') throw new TypeError('the SDK gave no text to send');
    return JSON.stringify(this.#call.amend(parseFields(body) ?? {}));
  }

  /** Some servers never stream. @returns what they would have streamed; null when it is not an answer. */
  #wholeAnswer(text: string): string | null {
    const answer = parseFields(text);
    const events = answer === null ? null : (this.#call.dialect.eventsOf?.(answer) ?? null);
    if (events === null) return null;
    this.hasBegun = true;
    this.isDone = true;
    return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  }

  #stream(body: Readable): ReadableStream<Uint8Array> {
    const lines = new LineWatch();
    let isOver = false;
    this.#body = body;
    this.hasBegun = true;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        const end = (failure: HttpFailure | null): void => {
          if (isOver) return;
          isOver = true;
          this.failure ??= failure;
          if (failure === null) controller.close();
          else controller.error(failure);
        };
        this.#endStream = () => end(null);
        body.on('data', (piece: Buffer) => {
          if (isOver) return;
          if (lines.isNew && !eventPattern.test(piece.toString('latin1').trimStart())) this.garbage = '';
          if (this.garbage !== null && this.garbage.length < errorBodyMax) this.garbage += piece.toString();
          controller.enqueue(piece);
          lines.add(piece);
          if (lines.isDone) {
            this.isDone = true;
            // Some servers keep the connection open after their last event.
            end(null);
          } else if (lines.isTooLong) {
            end(tooLongLine(frameBytesMax));
            body.destroy();
          } else if ((controller.desiredSize ?? 0) <= 0) body.pause();
        });
        body.once('end', () => end(null));
        body.once('error', (error) => end(httpFailureOf(error)));
        body.once('close', () =>
          end(new HttpFailure('network', 'the connection broke off', 'connection_broken')),
        );
      },
      pull: () => void body.resume(),
      cancel: () => {
        isOver = true;
        body.destroy();
      },
    });
  }
}

function streamResponse(events: string | ReadableStream<Uint8Array>): Response {
  return new Response(events, { headers: { 'content-type': 'text/event-stream' } });
}

/** Values of this header are merged: the SDK sets those that its request needs. */
const listHeader = 'anthropic-beta';

function headersOf(
  given: RequestInit['headers'],
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = { ...withoutEmptyKeys(given), 'user-agent': `svc/${version}` };
  for (const [key, value] of Object.entries(configured)) {
    const name = key.toLowerCase();
    const before = name === listHeader ? headers[name] : undefined;
    headers[name] = before === undefined ? value : `${before},${value}`;
  }
  return headers;
}

/** The SDKs send the key's header even without a key. */
function withoutEmptyKeys(headers: RequestInit['headers']): Record<string, string> {
  const all = [...new Headers(headers)];
  return Object.fromEntries(all.filter(([, value]) => value !== '' && value.trim() !== 'Bearer'));
}

/** Looks for the line `data: [DONE]`, and for a line that would fill the memory. */
class LineWatch {
  isNew = true;
  isDone = false;
  isTooLong = false;
  #length = 0;
  /** The last bytes received, for matches cut in two. */
  #rest: Buffer = Buffer.from('\n');

  add(piece: Buffer): void {
    this.isNew = false;
    const lastEnd = piece.lastIndexOf(10);
    this.#length = lastEnd < 0 ? this.#length + piece.length : piece.length - lastEnd;
    this.isTooLong = this.#length > frameBytesMax;
    const hasMark = piece.includes('[DONE]');
    const seen = Buffer.concat([this.#rest, hasMark ? piece : piece.subarray(0, seamLength)]);
    this.isDone ||= donePattern.test(seen.toString('latin1'));
    this.#rest = piece.length >= seamLength ? piece.subarray(-seamLength) : seen.subarray(-seamLength);
  }
}

/**
 * How an event stream can begin: with the first letter of `data`, `event`, `id` or `retry`, or a comment, after a
 * byte-order mark. https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
const eventPattern = /^(?:\xef\xbb\xbf)?(?:$|[:deir])/;
/** JSON escapes line ends, so this is never part of an answer. */
const donePattern = /[\r\n]data: ?\[DONE\]/;
const seamLength = 16;
