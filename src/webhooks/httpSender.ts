import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { WebhookSettings } from '../config/config.ts';
import type { Clock } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { SendOutcome, WebhookMessage, WebhookSender } from '../domain/webhook.ts';
import { version } from '../lib/version.ts';
import { bodyOf } from './body.ts';
import { type Destination, destinationOf, HeldUp, Refused, type Resolve } from './destination.ts';
import { HostLookup } from './hostLookup.ts';
import { type PinnedOptions, pinnedAgents, pinOf } from './pinnedAgents.ts';
import { signatureOf } from './signature.ts';

/** From the lookup of the host to the end of the answer, ms. */
const timeoutMs = 15_000;
/** Of an answer that are read, so that its sender can finish; none are kept. */
const answerBytesMax = 64 * 1024;
/** Characters of what went wrong. */
const errorMax = 200;

type Answer = Pick<SendOutcome, 'status' | 'retryAfter'>;

/** Sends over HTTP, from this thread: to addresses that were checked for each message, and after no redirects. */
export class HttpSender implements WebhookSender {
  readonly #agents = pinnedAgents();
  readonly #settings: () => WebhookSettings;
  readonly #clock: Clock;
  readonly #resolve: Resolve;
  readonly #open = new Set<ClientRequest>();
  #isClosed = false;

  /** @param options.resolve looks hosts up; a `HostLookup` does unless given. */
  constructor(options: { settings: () => WebhookSettings; clock: Clock; resolve?: Resolve | undefined }) {
    this.#settings = options.settings;
    this.#clock = options.clock;
    const lookup = new HostLookup({ clock: options.clock });
    this.#resolve = options.resolve ?? lookup.addressesOf.bind(lookup);
  }

  async refusal(url: string): Promise<string | null> {
    try {
      await this.#inTime(destinationOf(url, this.#settings(), this.#resolve));
      return null;
    } catch (error) {
      return messageOf(error);
    }
  }

  async send(message: WebhookMessage): Promise<SendOutcome> {
    const startedAt = this.#clock.monotonic();
    const ms = () => Math.round(this.#clock.monotonic() - startedAt);
    try {
      const destination = await this.#inTime(destinationOf(message.url, this.#settings(), this.#resolve));
      const leftMs = Math.max(1, timeoutMs - ms());
      return { ...(await this.#post(destination, message, leftMs)), error: null, ms: ms() };
    } catch (error) {
      const failed = { status: null, retryAfter: null, error: faultOf(error), ms: ms() };
      return error instanceof HeldUp ? { ...failed, isHeldUp: true } : failed;
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const request of this.#open) request.destroy(new Error('the coordinator stops'));
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  /** @returns what the task gives within the timeout. @throws Refused after it; what the task throws. */
  async #inTime<T>(task: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = this.#clock.after(timeoutMs, () =>
      reject(new Refused('its host could not be looked up in time')),
    );
    try {
      return await Promise.race([task, promise]);
    } finally {
      cancel();
    }
  }

  /**
   * A receiver may close a kept connection in the moment in which it is used: then a new one is made, once.
   * @returns the head of the answer, when the connection is done with it. @throws when none came.
   */
  async #post(destination: Destination, message: WebhookMessage, leftMs: number): Promise<Answer> {
    const { event, secrets } = message;
    const body = bodyOf(event);
    const seconds = Math.floor(this.#clock.now() / 1000);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': `svc-webhooks/${version}`,
      'webhook-id': event.id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': signatureOf(event.id, seconds, body, secrets),
    };
    const endsAt = this.#clock.monotonic() + leftMs;
    try {
      return await this.#exchange(destination, { headers, body, isKept: true, leftMs });
    } catch (error) {
      const stillMs = endsAt - this.#clock.monotonic();
      if (!(error instanceof KeptConnectionLost) || stillMs <= 0) throw error;
      return await this.#exchange(destination, { headers, body, isKept: false, leftMs: stillMs });
    }
  }

  #exchange(
    { url, addresses }: Destination,
    sent: { headers: OutgoingHttpHeaders; body: string; isKept: boolean; leftMs: number },
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    if (this.#isClosed) throw new Error('the coordinator stops');
    const isPlain = url.protocol === 'http:';
    const lookup: LookupFunction = (_, { all }, done) => {
      const [{ address, family }] = addresses;
      if (all === true) done(null, [...addresses]);
      else done(null, address, family);
    };
    const { headers, body, isKept, leftMs } = sent;
    const agent = isKept ? this.#agents[isPlain ? 'plain' : 'tls'] : false;
    const options: PinnedOptions = { method: 'POST', agent, lookup, headers, pin: pinOf(addresses) };
    const request = (isPlain ? httpRequest : httpsRequest)(url, options);
    this.#open.add(request);
    const cancel = this.#clock.after(leftMs, () => request.destroy(new Error('no answer in time')));
    let answer: Answer | null = null;
    request.on('response', (response) => {
      const { statusCode = 0, headers } = response;
      answer = { status: statusCode, retryAfter: headers['retry-after'] ?? null };
      drop(response);
    });
    request.on('error', (error) => {
      // An answer that breaks off after its head has said what counts.
      if (answer !== null) return;
      const isLost = request.reusedSocket && 'code' in error && error.code === 'ECONNRESET';
      reject(isLost ? new KeptConnectionLost(error.message, { cause: error }) : error);
    });
    request.on('close', () => {
      cancel();
      this.#open.delete(request);
      if (answer === null) reject(new Error('the connection was closed without an answer'));
      else resolve(answer);
    });
    request.end(body);
    return promise;
  }
}

/** A connection that had been used before ended without an answer. */
class KeptConnectionLost extends Error {}

/** Read what is left of an answer, within its bound. */
function drop(response: IncomingMessage): void {
  let bytes = 0;
  response.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > answerBytesMax) response.destroy();
  });
  response.on('error', () => {});
}

function faultOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = faults[code];
  return (known ?? `${messageOf(error)}`).slice(0, errorMax);
}

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ETIMEDOUT: 'the host did not answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
};
