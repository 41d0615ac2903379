import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { IconButton } from '../components/button.tsx';
import { Icon, type IconName } from '../components/icons.tsx';
import { compact } from '../components/text.ts';
import { useStats } from '../live/store.ts';
import { areOwnSessionsOpen } from '../pages/keys/sessionsDialog.tsx';
import type { PageEntry } from '../pages.tsx';
import { go, href, path } from '../router.ts';
import { role, signOutEverywhere } from '../session.ts';
import { LiveMark } from './banner.tsx';
import { isHelpOpen } from './help.tsx';
import { Logo } from './logo.tsx';
import { openPalette } from './palette.tsx';
import { nextTheme, type Theme, theme } from './preferences.ts';
import { useShortcut } from './shortcuts.ts';
import { visiblePages } from './visiblePages.ts';

const themeIcons: Record<Theme, IconName> = { system: 'system', light: 'sun', dark: 'moon' };
const themeLabels: Record<Theme, string> = {
  system: 'Colours: as the system',
  light: 'Colours: light',
  dark: 'Colours: dark',
};

/** The bar with the pages, the session, and the theme. On a phone it is behind a button. */
// Over 60 lines: its markup stays in one piece.
export function Navigation(): JSX.Element {
  const isOpen = useSignal(false);
  const stats = useStats();
  useEffect(() => {
    isOpen.value = false;
  }, [path.value, isOpen]);
  useShortcut('t', 'Light, dark or as the system', nextTheme);
  const { pending = 0, running = 0 } = stats.value?.jobs.by_status ?? {};
  return (
    <header class={isOpen.value ? 'bar open' : 'bar'}>
      <div class="bar-top">
        <a href={href('/')} aria-label="SVC, overview">
          <Logo />
        </a>
        <LiveMark />
        <span class="bar-menu">
          <IconButton icon="search" label="Go to or do (Ctrl K)" onClick={openPalette} />
          <button
            type="button"
            class="icon-button menu-button"
            aria-expanded={isOpen.value}
            aria-controls="navigation"
            aria-label="Menu"
            onClick={() => {
              isOpen.value = !isOpen.value;
            }}
          >
            <Icon name={isOpen.value ? 'close' : 'menu'} />
          </button>
        </span>
      </div>
      <div class="bar-body" id="navigation">
        <nav aria-label="Pages">
          <ul>
            {visiblePages().map((page) => (
              <NavLink
                key={page.pattern}
                page={page}
                count={page.pattern === '/jobs' ? pending + running : 0}
              />
            ))}
          </ul>
        </nav>
        <div class="bar-foot">
          <span class="role" title="What this key may do">
            <Icon name="keys" />
            {role.value ?? '…'}
            {role.value === 'viewer' ? <span class="faint">read only</span> : null}
          </span>
          <span class="bar-tools">
            <IconButton icon={themeIcons[theme.value]} label={themeLabels[theme.value]} onClick={nextTheme} />
            <IconButton
              icon="keyboard"
              label="Keyboard shortcuts"
              onClick={() => {
                isHelpOpen.value = true;
              }}
            />
            <IconButton
              icon="keys"
              label="Sessions of your key"
              onClick={() => {
                areOwnSessionsOpen.value = true;
              }}
            />
            <IconButton icon="signOut" label="Sign out" onClick={() => signOutEverywhere()} />
          </span>
        </div>
      </div>
    </header>
  );
}

function NavLink({ page, count }: { page: PageEntry; count: number }): JSX.Element {
  const { pattern, title, nav } = page;
  const isHere = pattern === '/' ? path.value === '/' : path.value.startsWith(pattern);
  useShortcut(`g ${nav?.key ?? ''}`, title, () => go(href(pattern)));
  return (
    <li>
      <a href={href(pattern)} aria-current={isHere ? 'page' : undefined}>
        <Icon name={nav?.icon ?? 'info'} />
        {title}
        {count === 0 ? null : (
          <span class="nav-count" title="Pending and running">
            {compact(count)}
          </span>
        )}
      </a>
    </li>
  );
}
