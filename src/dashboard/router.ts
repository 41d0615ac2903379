import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { root } from './root.ts';

/** Where the reader is: the whole state of a view is its path and its query. */
export interface Place {
  /** Within the dashboard, `/jobs`. */
  path: string;
  query: URLSearchParams;
}

const here = signal<Place>(read());

/** The current place. */
export const place: ReadonlySignal<Place> = here;
export const path: ReadonlySignal<string> = computed(() => here.value.path);

function read(): Place {
  const { pathname, search } = window.location;
  const inside = pathname.startsWith(root.pathname) ? pathname.slice(root.pathname.length) : '';
  return { path: `/${inside}`, query: new URLSearchParams(search) };
}

/** The address of a place, for links. @param query leaves out what is empty. */
export function href(path: string, query: Record<string, string | null | undefined> = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) params.set(name, value);
  return root.pathname.replace(/\/$/, '') + path + (params.size === 0 ? '' : `?${params}`);
}

/** Go to an address that `href` made. `replace`: without an entry of its own for Back. */
export function go(to: string, options: { replace?: boolean } = {}): void {
  const before = here.peek().path;
  if (options.replace !== true) rememberScroll();
  if (options.replace === true) window.history.replaceState(null, '', to);
  else window.history.pushState(null, '', to);
  here.value = read();
  if (here.peek().path !== before) window.scrollTo(0, 0);
}

/**
 * Change some of the query and keep the rest; null and the empty string remove. What is typed replaces the entry of
 * the history, so that Back leaves the page and does not spell backwards.
 */
export function setQuery(
  changes: Record<string, string | readonly string[] | null>,
  options: { replace?: boolean } = {},
): void {
  const query = new URLSearchParams(here.peek().query);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const item of value === null ? [] : typeof value === 'string' ? [value] : value) {
      if (item !== '') query.append(name, item);
    }
  }
  go(href(here.peek().path) + (query.size === 0 ? '' : `?${query}`), options);
}

/** Note in the entry of the history how far its page is scrolled. */
function rememberScroll(): void {
  window.history.replaceState({ scrollY: window.scrollY }, '');
}

/** A page that was read before comes from the API again; after this long it will not be as high as it was, ms. */
const scrollBackMs = 3_000;

/** Scroll as far as the entry of the history says, as soon as its page is that high. Who scrolls meanwhile goes first. */
function scrollBack(state: unknown): void {
  const wanted =
    typeof state === 'object' && state !== null && 'scrollY' in state ? Number(state.scrollY) : 0;
  const ends = new AbortController();
  const sizes = new ResizeObserver(() => {
    window.scrollTo(0, wanted);
    if (window.scrollY >= wanted - 1) ends.abort();
  });
  ends.signal.addEventListener('abort', () => sizes.disconnect());
  for (const type of ['wheel', 'touchmove', 'keydown', 'popstate'])
    window.addEventListener(type, () => ends.abort(), { signal: ends.signal, passive: true });
  setTimeout(() => ends.abort(), scrollBackMs);
  sizes.observe(document.body);
}

/** Follow Back and Forward, and take over the clicks on links of our own. @returns what ends it. */
export function startRouter(): () => void {
  const onPop = ({ state }: PopStateEvent): void => {
    here.value = read();
    scrollBack(state);
  };
  const onClick = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
    if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return;
    if (link.origin !== root.origin || !link.pathname.startsWith(root.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search);
  };
  // Pages are shown before they are read, when they are not yet as high: the browser would scroll too early.
  window.history.scrollRestoration = 'manual';
  scrollBack(window.history.state);
  window.addEventListener('popstate', onPop);
  window.addEventListener('pagehide', rememberScroll);
  document.addEventListener('click', onClick);
  return () => {
    window.removeEventListener('popstate', onPop);
    window.removeEventListener('pagehide', rememberScroll);
    document.removeEventListener('click', onClick);
  };
}
