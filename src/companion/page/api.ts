import { signal } from '@preact/signals';
import type { CompanionState } from '../state.ts';

/** The state as it arrived last; null before the first. */
export const state = signal<CompanionState | null>(null);
/** `out`: this window has no access any more; only a new link gives it. */
export const link = signal<'connecting' | 'live' | 'lost' | 'out'>('connecting');

/** Do something. @throws Error with a sentence for people. */
export async function act<T>(action: string, body: object = {}): Promise<T> {
  const response = await fetch(`./api/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => {
    throw new Error('The companion does not answer; was it stopped?');
  });
  if (response.status === 401) link.value = 'out';
  const text = await response.text();
  if (!response.headers.get('content-type')?.startsWith('application/json')) throw new Error(text.trim());
  const answer = JSON.parse(text);
  if (!response.ok) throw new Error(String(answer.error));
  return answer;
}

/** Follow the state; the browser connects again by itself. */
export function follow(): void {
  const events = new EventSource('./events');
  events.onopen = () => {
    link.value = 'live';
  };
  events.onmessage = ({ data }) => {
    state.value = JSON.parse(data);
  };
  events.onerror = () => {
    // Closed: the answer was a refusal, such as after a restart of the companion with another token.
    link.value = events.readyState === EventSource.CLOSED ? 'out' : 'lost';
  };
}
