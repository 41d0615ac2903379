import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

const loopback = ['localhost', '127.0.0.1', '[::1]', '::1'];

/**
 * Whether a request says once where it goes. Of two Host headers Node gives the first, and a proxy in front may go by the
 * second: https://www.rfc-editor.org/rfc/rfc9112#section-3.2 wants such a request refused.
 */
export function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count < 2;
}

/** By what names a service can be reached. */
export interface OwnNames {
  /** What it binds. */
  host: string;
  /** What the world knows it by; null when nobody said. */
  publicUrl: string | null;
  http: { allowedHosts: readonly string[] };
}

/** Whether an address binds this machine alone. */
export function isLoopback(host: string): boolean {
  return loopback.includes(host) || /^127\.[\d.]+$/.test(host);
}

/** Whether to bind it is to listen on every address of the machine. */
export function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** Where a service that binds `host` is reached from its own machine: every address is none that a browser can open. */
export function nearUrl(host: string, port: number): string {
  const near = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${near.includes(':') ? `[${near}]` : near}:${port}`;
}

/**
 * Whether a host is one's own machine or in its network: loopback, link-local and private addresses (RFC 1918, RFC 4193),
 * and names that no public DNS has: without a dot, such as that of a container, or under `localhost` (RFC 6761), `local`
 * (RFC 6762), `home.arpa` (RFC 8375) or `internal` (ICANN, 2024).
 * @param hostname as `URL.hostname` gives it: in small letters, an IPv6 address in brackets.
 */
export function isOwnHost(hostname: string): boolean {
  return (
    /^[^.:]+$/.test(hostname) ||
    /\.(localhost|local|home\.arpa|internal)$/.test(hostname) ||
    /^(0\.0\.0\.0$|127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.)[\d.]*$/.test(hostname) ||
    /^\[(::1|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$/.test(hostname)
  );
}

/** What can be a host and a port. `URL` alone would also take `somebody@host` and `host/path`. */
const hostPattern = /^[\w.:[\]-]+$/;

/**
 * Whether a Host header names this service. A page that rebinds its own name to this address (DNS rebinding) sends its
 * own name, so an address in numbers is always good: nobody can rebind that. Bound beyond loopback without `public_url`
 * and `http.allowed_hosts`, any name may be ours, and only the key decides.
 */
export function isKnownHost(header: string | undefined, own: OwnNames): boolean {
  if (header === undefined || !hostPattern.test(header) || !URL.canParse(`http://${header}`)) return false;
  const { hostname } = new URL(`http://${header}`);
  if (isLoopback(hostname) || hostname === own.host || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
    return true;
  const { allowedHosts } = own.http;
  if (allowedHosts.some((name) => name.toLowerCase() === hostname)) return true;
  if (own.publicUrl !== null) return hostname === new URL(own.publicUrl).hostname;
  return !isLoopback(own.host) && allowedHosts.length === 0;
}

/**
 * Whether an Origin header is that of a page this service has served: the host and port that the request itself goes to,
 * or `public_url`. The scheme is left out, since a proxy may have ended TLS.
 */
export function isOwnOrigin(
  origin: string,
  hostHeader: string,
  { publicUrl }: Pick<OwnNames, 'publicUrl'>,
): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host, origin: normal } = new URL(origin);
  if (protocol !== 'http:' && protocol !== 'https:') return false;
  if (publicUrl !== null && normal === new URL(publicUrl).origin) return true;
  return URL.canParse(`${protocol}//${hostHeader}`) && new URL(`${protocol}//${hostHeader}`).host === host;
}
