import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Icon } from './icons.tsx';

/** How long the button shows that it has copied, ms. */
const shownMs = 2_000;

/**
 * Copies a text to the clipboard. Browsers only allow the clipboard API on HTTPS and localhost; elsewhere the old
 * command is used.
 */
export function CopyButton({
  text,
  label = 'Copy',
}: {
  text: string | (() => string);
  label?: string;
}): JSX.Element {
  const said = useSignal<string | null>(null);
  const copy = async (): Promise<void> => {
    const isDone = await copyText(typeof text === 'string' ? text : text());
    said.value = isDone ? 'Copied' : 'Could not copy';
    setTimeout(() => {
      said.value = null;
    }, shownMs);
  };
  return (
    <button type="button" class="button quiet small" onClick={() => void copy()}>
      <Icon name={said.value === 'Copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{said.value ?? label}</span>
    </button>
  );
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  // An open dialog makes everything outside inert, including a selection.
  const parent = document.querySelector('dialog[open]') ?? document.body;
  const before = document.activeElement;
  parent.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return isDone;
}
