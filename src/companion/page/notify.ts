import { effect, signal } from '@preact/signals';
import type { CompanionState } from '../state.ts';
import { state } from './api.ts';

const itemName = 'svc.companion.notify';

/** Whether this window may show notifications, and was asked to. */
export const isNotifying = signal(
  'Notification' in window &&
    Notification.permission === 'granted' &&
    localStorage.getItem(itemName) === 'on',
);

/** @returns whether notifications are on now: the user may refuse them. */
export async function setNotifying(isWanted: boolean): Promise<boolean> {
  if (!('Notification' in window)) return false;
  const isAllowed = isWanted && (await Notification.requestPermission()) === 'granted';
  localStorage.setItem(itemName, isAllowed ? 'on' : 'off');
  isNotifying.value = isAllowed;
  return isAllowed;
}

/** Notify of failed jobs and of problems of the worker from now on. */
export function startNotifying(): void {
  let before: CompanionState | null = null;
  effect(() => {
    const now = state.value;
    if (now === null) return;
    if (before !== null && isNotifying.peek()) for (const text of newsOf(before, now)) show(text);
    before = now;
  });
}

function newsOf(before: CompanionState, now: CompanionState): string[] {
  const known = before.failures[0]?.id ?? 0;
  const failures = now.failures.filter(({ id }) => id > known);
  const [first] = failures;
  const texts: string[] = [];
  if (failures.length > 1) texts.push(`${failures.length} jobs failed`);
  else if (first !== undefined) texts.push(`A job failed (${first.errorClass}). ${first.advice}`);
  const { problem } = now.worker;
  if (problem !== null && problem.message !== before.worker.problem?.message) texts.push(problem.message);
  return texts;
}

function show(text: string): void {
  // The same tag replaces an older one: a broken server must not fill the screen.
  new Notification('SVC companion', { body: text.slice(0, 300), tag: 'svc-companion' });
}
