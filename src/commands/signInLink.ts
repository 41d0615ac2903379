/**
 * An address that opens the dashboard signed in. The key is in the fragment, which a browser never sends: it is in no
 * log of a server or proxy, and the page removes it from the address at once.
 */
export function signInLink(url: string, key: string): string {
  return `${url.replace(/\/$/, '')}/#key=${encodeURIComponent(key)}`;
}
