import { type Signal, signal } from '@preact/signals';

/** The theme of this browser; stored beyond the tab, because it says nothing about anybody's work. */
export type Theme = 'system' | 'light' | 'dark';

const themeName = 'svc.theme';

function storedTheme(): Theme {
  const stored = localStorage.getItem(themeName);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

const switches: { name: string; isOn: Signal<boolean> }[] = [];

/** A switch stored in this browser. */
function remembered(name: string, fallback: boolean): Signal<boolean> {
  const stored = localStorage.getItem(name);
  const isOn = signal(stored === null ? fallback : stored === 'on');
  switches.push({ name, isOn });
  return isOn;
}

export const theme = signal<Theme>(storedTheme());
/** Single keys may disturb people who use speech input (WCAG 2.1.4), so they can be switched off. */
export const hasShortcuts = remembered('svc.shortcuts', true);
/** Whether results are shown raw instead of rendered as Markdown or JSON. */
export const showsRaw = remembered('svc.raw', false);
/** Whether the page of a job shows the chart of its states. */
export const showsStates = remembered('svc.states', false);
/** Whether this browser notifies of ended runs of the reader's key, and of lost workers. */
export const notifies = remembered('svc.notify', false);

/** Apply the preferences. @returns a function that ends it. */
export function applyPreferences(): () => void {
  const unTheme = theme.subscribe((chosen) => {
    document.documentElement.dataset.theme = chosen;
    localStorage.setItem(themeName, chosen);
  });
  const ends = switches.map(({ name, isOn }) =>
    isOn.subscribe((value) => localStorage.setItem(name, value ? 'on' : 'off')),
  );
  return () => {
    unTheme();
    for (const end of ends) end();
  };
}

const order: readonly Theme[] = ['system', 'light', 'dark'];

export function nextTheme(): void {
  theme.value = order[(order.indexOf(theme.peek()) + 1) % order.length] ?? 'system';
}
