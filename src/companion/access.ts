import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { hasOneHost } from '../lib/hosts.ts';

/** A link to the page works once, and for so long: it is in the list of processes while a browser starts. */
const ticketMs = 60_000;
const ticketsMax = 20;

/** Why a request is refused; null: it is not. */
export type Refusal = 'host' | 'origin' | 'user' | 'token' | null;

/**
 * Who may use the page. Everything on this machine can reach a port of the loopback interface: other users, and every
 * page in the browser. So a request needs the token, in the cookie of the page or as a bearer; its Host must be this very
 * address, which a page that rebinds its name does not send; and what a browser sends must come from the page itself.
 *
 * A browser sends cookies to every port of a host. The cookie is therefore bound to a secret path, which no server on
 * another port can make the browser request.
 */
export class Access {
  /** For the other commands of the same user, from a file that only this user can read. */
  readonly token: string = randomBytes(32).toString('base64url');
  /** The secret folder of all addresses, `/…/`. */
  readonly base: string = `/${randomBytes(18).toString('base64url')}/`;
  readonly #tickets = new Map<string, number>();
  #port = 0;

  listensOn(port: number): void {
    this.#port = port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** A link that signs a browser in, once. */
  link(): string {
    const now = Date.now();
    for (const [ticket, until] of this.#tickets) {
      if (until < now || this.#tickets.size >= ticketsMax) this.#tickets.delete(ticket);
    }
    const ticket = randomBytes(24).toString('base64url');
    this.#tickets.set(ticket, now + ticketMs);
    return `${this.origin}${this.base}open?ticket=${ticket}`;
  }

  /** @returns the cookie for the browser of a link; null when the link is wrong, late, or was used. */
  redeem(ticket: string): string | null {
    const until = this.#tickets.get(ticket);
    this.#tickets.delete(ticket);
    if (until === undefined || until < Date.now()) return null;
    return `${cookieName}=${this.token}; Path=${this.base}; HttpOnly; SameSite=Strict`;
  }

  /** Whether a request comes from this machine's own name, and from no other page. */
  refuseStranger(request: IncomingMessage): Refusal {
    const { headers, method } = request;
    if (!hasOneHost(request) || `http://${headers.host}` !== this.origin) return 'host';
    if (headers.origin !== undefined && headers.origin !== this.origin) return 'origin';
    const site = headers['sec-fetch-site'];
    // `none`: the user, or the program that opened the browser.
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return 'origin';
    // A browser sends an Origin with every POST; other programs have the token as a bearer.
    const isChange = method !== 'GET' && method !== 'HEAD';
    if (isChange && headers.origin === undefined && headers.authorization === undefined) return 'origin';
    return null;
  }

  /** Whether it has the token. */
  refuseToken({ headers }: IncomingMessage): Refusal {
    const bearer = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
    const given = bearer ?? cookieOf(headers.cookie ?? '');
    return isSame(given, this.token) ? null : 'token';
  }
}

const cookieName = 'svc_companion';

function cookieOf(header: string): string {
  const pair = header.split('; ').find((one) => one.startsWith(`${cookieName}=`));
  return pair?.slice(cookieName.length + 1) ?? '';
}

/** In constant time, whatever their lengths. */
function isSame(given: string, token: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}
