import type { Config } from '../config/config.ts';

const loopback = ['localhost', '127.0.0.1', '[::1]', '::1'];

/** Whether an address binds this machine alone. */
export function isLoopback(host: string): boolean {
  return loopback.includes(host) || /^127\./.test(host);
}

/**
 * Whether a Host header names this service. A page that rebinds its own name to this address (DNS rebinding) sends its
 * own name. Bound beyond loopback without `public_url`, any name may be ours, and only the key decides.
 */
export function isKnownHost(header: string | undefined, config: Config): boolean {
  if (header === undefined || !URL.canParse(`http://${header}`)) return false;
  const { hostname } = new URL(`http://${header}`);
  if (isLoopback(hostname) || hostname === config.host) return true;
  if (config.publicUrl !== null) return hostname === new URL(config.publicUrl).hostname;
  return !isLoopback(config.host);
}
