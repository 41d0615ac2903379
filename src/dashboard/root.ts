/**
 * The address that the coordinator is reached at, with a slash at its end. index.html's <base> says it relative to the
 * path that was opened; from here on it is absolute, so that it stays right when the path changes.
 */
export const root: URL = fixBase();

function fixBase(): URL {
  const url = new URL('.', document.baseURI);
  document.querySelector('base')?.setAttribute('href', url.href);
  return url;
}

/** The address to give to the client of the API: the root without the slash. */
export const baseUrl: string = root.href.replace(/\/$/, '');

/** The WebSocket of live events. */
export function liveUrl(): string {
  const url = new URL('ws', root);
  url.protocol = root.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}
