import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { hasShortcuts } from './preferences.ts';

interface Shortcut {
  /** One key, `/`, or two one after the other, `g j`. */
  keys: string;
  /** Its effect, for the list of shortcuts. */
  label: string;
  run(): void;
}

const known = signal<readonly Shortcut[]>([]);
/** The shortcuts of the current page. */
export const shortcuts: ReadonlySignal<readonly Shortcut[]> = known;

/** Two keys must follow each other within this time, ms. */
const sequenceMs = 1_000;

/** A shortcut while a part of the page is mounted; a later one for the same keys has priority. */
export function useShortcut(keys: string, label: string, run: () => void): void {
  const ref = useRef(run);
  ref.current = run;
  useEffect(() => {
    const shortcut: Shortcut = { keys, label, run: () => ref.current() };
    known.value = [...known.peek(), shortcut];
    return () => {
      known.value = known.peek().filter((other) => other !== shortcut);
    };
  }, [keys, label]);
}

/**
 * Listen to the keyboard. @param onPalette Ctrl-K or Command-K, which works everywhere. @returns a function that ends
 * it.
 */
export function startShortcuts(onPalette: () => void): () => void {
  let first: { key: string; at: number } | null = null;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey) {
      event.preventDefault();
      onPalette();
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!hasShortcuts.peek() || isTyping(event.target) || isPressing(event)) return;
    const before = first !== null && event.timeStamp - first.at < sequenceMs ? first.key : null;
    first = null;
    const found = find(before === null ? event.key : `${before} ${event.key}`) ?? find(event.key);
    if (found !== undefined) {
      event.preventDefault();
      found.run();
    } else if (known.peek().some(({ keys }) => keys.startsWith(`${event.key} `))) {
      first = { key: event.key, at: event.timeStamp };
    }
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

/** Enter on a link or a button activates that. */
function isPressing({ key, target }: KeyboardEvent): boolean {
  return key === 'Enter' && target instanceof Element && target.closest('a, button, summary') !== null;
}

function find(keys: string): Shortcut | undefined {
  return known.peek().findLast((shortcut) => shortcut.keys === keys);
}

/** In a field keys are text; in a dialog they belong to the dialog. */
function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]') !== null) return true;
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
}
