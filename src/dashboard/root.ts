/**
 * The address of the coordinator, with a trailing slash. index.html's <base> gives it relative to the opened path; it
 * is made absolute here, so that it stays right when the path changes.
 */
export const root: URL = fixBase();

function fixBase(): URL {
  const url = new URL('.', document.baseURI);
  document.querySelector('base')?.setAttribute('href', url.href);
  return url;
}

/** The address for the API client: the root without the slash. */
export const baseUrl: string = root.href.replace(/\/$/, '');

/** How a reader of this page starts the command line, as the coordinator's own installation has it. */
export const commandLine: string =
  document.querySelector('meta[name="svc-command"]')?.getAttribute('content') ?? 'svc';

/** The WebSocket of live events. */
export function liveUrl(): string {
  const url = new URL('ws', root);
  url.protocol = root.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}
