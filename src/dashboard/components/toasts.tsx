import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { ApiError, Unreachable } from '../../client/errors.ts';
import { Icon } from './icons.tsx';

interface Toast {
  id: number;
  text: string;
  tone: 'good' | 'bad';
}

/** How long a success stays, ms. A failure stays until it is closed: it may be the only trace of the error. */
const stayMs = 6_000;
const toastsMax = 4;

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

/** Show that an action succeeded. */
export function notify(text: string): void {
  const id = add(text, 'good');
  setTimeout(() => close(id), stayMs);
}

/** Show that an action failed. */
export function failed(error: unknown): void {
  add(explain(error), 'bad');
}

/** An error for people. */
export function explain(error: unknown): string {
  if (error instanceof ApiError) return error.detail;
  if (error instanceof Unreachable)
    return 'The coordinator does not answer. It may be restarting; try again.';
  return error instanceof Error ? error.message : String(error);
}

function add(text: string, tone: Toast['tone']): number {
  lastId += 1;
  const others = toasts.peek().filter((toast) => toast.text !== text);
  toasts.value = [...others, { id: lastId, text, tone }].slice(-toastsMax);
  return lastId;
}

function close(id: number): void {
  toasts.value = toasts.peek().filter((toast) => toast.id !== id);
}

/** Shows the messages, also to screen readers. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone }) => (
        <div key={id} class={`toast tone-${tone}`}>
          <Icon name={tone === 'good' ? 'check' : 'warning'} />
          <p>{text}</p>
          <button type="button" class="icon-button" aria-label="Close this message" onClick={() => close(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
