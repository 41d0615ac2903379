import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { root } from './root.ts';

/** The reader's position: path and query are the whole state of a view. */
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

/** The address of a place, for links. @param query without empty values. */
export function href(path: string, query: Record<string, string | null | undefined> = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) params.set(name, value);
  return root.pathname.replace(/\/$/, '') + path + (params.size === 0 ? '' : `?${params}`);
}

/** Navigate to an address made by `href`. `replace`: without a new history entry. */
export function go(to: string, options: { replace?: boolean } = {}): void {
  const before = here.peek().path;
  if (options.replace !== true) rememberScroll();
  if (options.replace === true) window.history.replaceState(null, '', to);
  else window.history.pushState(null, '', to);
  here.value = read();
  if (here.peek().path !== before) window.scrollTo(0, 0);
}

/**
 * Change some of the query and keep the rest; null and the empty string remove. Typing replaces the history entry, so
 * that Back leaves the page instead of undoing letters.
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

/** Store the scroll position in the history entry. */
function rememberScroll(): void {
  window.history.replaceState({ scrollY: window.scrollY }, '');
}

/** A revisited page is loaded again; after this long it will not regain its height, ms. */
const scrollBackMs = 3_000;

/**
 * Scroll to the position in the history entry, as soon as the page is high enough. The reader's own scrolling has
 * priority.
 */
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

/** Handle Back and Forward, and clicks on our own links. @returns a function that ends it. */
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
  // Pages are shown before they are loaded, when they are not as high yet: the browser would scroll too early.
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
