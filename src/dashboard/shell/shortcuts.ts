import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { hasShortcuts } from './preferences.ts';

interface Shortcut {
  /** One key, `/`, or two one after the other, `g j`. */
  keys: string;
  /** What it does, for the list of shortcuts. */
  label: string;
  run(): void;
}

const known = signal<readonly Shortcut[]>([]);
/** Those that work on the page as it is now. */
export const shortcuts: ReadonlySignal<readonly Shortcut[]> = known;

/** Two keys belong together within this time, ms. */
const sequenceMs = 1_000;

/** A shortcut while a part of the page is there; a later one for the same keys wins over an earlier one. */
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

/** Listen to the keyboard. @param onPalette Ctrl-K or Command-K, which works everywhere. @returns what ends it. */
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

/** Enter on a link or a button is that one's. */
function isPressing({ key, target }: KeyboardEvent): boolean {
  return key === 'Enter' && target instanceof Element && target.closest('a, button, summary') !== null;
}

function find(keys: string): Shortcut | undefined {
  return known.peek().findLast((shortcut) => shortcut.keys === keys);
}

/** In a field keys are text; in a dialog they are the dialog's. */
function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]') !== null) return true;
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
}
