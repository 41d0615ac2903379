import { type Signal, signal } from '@preact/signals';

/** How this browser likes the page; kept beyond the tab, since it says nothing of anybody's work. */
export type Theme = 'system' | 'light' | 'dark';

const themeName = 'svc.theme';

function storedTheme(): Theme {
  const stored = localStorage.getItem(themeName);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

const switches: { name: string; isOn: Signal<boolean> }[] = [];

/** A switch that this browser remembers. */
function remembered(name: string, fallback: boolean): Signal<boolean> {
  const stored = localStorage.getItem(name);
  const isOn = signal(stored === null ? fallback : stored === 'on');
  switches.push({ name, isOn });
  return isOn;
}

export const theme = signal<Theme>(storedTheme());
/** Single keys may be in the way of those who speak to their computer (WCAG 2.1.4), so they can be switched off. */
export const hasShortcuts = remembered('svc.shortcuts', true);
/** Whether results are shown as the model wrote them, and not as the Markdown or JSON that they are. */
export const showsRaw = remembered('svc.raw', false);
/** Whether the page of a job shows the chart of its states. */
export const showsStates = remembered('svc.states', false);

/** Keep the page as it is preferred. @returns what ends it. */
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
