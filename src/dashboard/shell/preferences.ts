import { signal } from '@preact/signals';

/** How this browser likes the page; kept beyond the tab, since it says nothing of anybody's work. */
export type Theme = 'system' | 'light' | 'dark';

const themeName = 'svc.theme';
const shortcutsName = 'svc.shortcuts';

function storedTheme(): Theme {
  const stored = localStorage.getItem(themeName);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export const theme = signal<Theme>(storedTheme());
/** Single keys may be in the way of those who speak to their computer (WCAG 2.1.4), so they can be switched off. */
export const hasShortcuts = signal(localStorage.getItem(shortcutsName) !== 'off');

/** Keep the page as it is preferred. @returns what ends it. */
export function applyPreferences(): () => void {
  const unTheme = theme.subscribe((chosen) => {
    document.documentElement.dataset.theme = chosen;
    localStorage.setItem(themeName, chosen);
  });
  const unShortcuts = hasShortcuts.subscribe((isOn) =>
    localStorage.setItem(shortcutsName, isOn ? 'on' : 'off'),
  );
  return () => {
    unTheme();
    unShortcuts();
  };
}

const order: readonly Theme[] = ['system', 'light', 'dark'];

export function nextTheme(): void {
  theme.value = order[(order.indexOf(theme.peek()) + 1) % order.length] ?? 'system';
}
