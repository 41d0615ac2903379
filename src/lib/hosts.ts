import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

const loopback = ['localhost', '127.0.0.1', '[::1]', '::1'];

/**
 * Whether a request has exactly one Host header. Of two, Node returns the first and a proxy in front may use the
 * second: https://www.rfc-editor.org/rfc/rfc9112#section-3.2 requires refusing such a request.
 */
export function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count < 2;
}

/** The names under which a service can be reached. */
export interface OwnNames {
  /** The address it binds. */
  host: string;
  /** Its public address; null when not configured. */
  publicUrl: string | null;
  http: { allowedHosts: readonly string[] };
}

/** Whether an address binds this machine alone. */
export function isLoopback(host: string): boolean {
  return loopback.includes(host) || /^127\.[\d.]+$/.test(host);
}

/** Whether binding it means listening on every address of the machine. */
export function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** The address of a service that binds `host`, as seen from its own machine: a browser cannot open "every address". */
export function nearUrl(host: string, port: number): string {
  const near = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${near.includes(':') ? `[${near}]` : near}:${port}`;
}

/**
 * Whether a host is this machine or in its network: loopback, link-local and private addresses (RFC 1918, RFC 4193),
 * and names that no public DNS has: without a dot, such as that of a container, or under `localhost` (RFC 6761),
 * `local` (RFC 6762), `home.arpa` (RFC 8375) or `internal` (ICANN, 2024).
 * @param hostname as `URL.hostname` gives it: in lower case, an IPv6 address in brackets.
 */
export function isOwnHost(hostname: string): boolean {
  return (
    /^[^.:]+$/.test(hostname) ||
    /\.(localhost|local|home\.arpa|internal)$/.test(hostname) ||
    /^(0\.0\.0\.0$|127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.)[\d.]*$/.test(hostname) ||
    /^\[(::1|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$/.test(hostname)
  );
}

/** A host with an optional port. `URL` alone would also accept `somebody@host` and `host/path`. */
const hostPattern = /^[\w.:[\]-]+$/;

/**
 * Whether a Host header names this service. A page that rebinds its own name to this address (DNS rebinding) sends its
 * own name, so a numeric address is always fine: nobody can rebind that. Bound beyond loopback without `public_url` and
 * `http.allowed_hosts`, any name may be ours, and only the key decides.
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
 * Whether an Origin header is that of a page served by this service: the host and port that the request itself goes to,
 * or `public_url`. The scheme is ignored, since a proxy may have terminated TLS.
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
