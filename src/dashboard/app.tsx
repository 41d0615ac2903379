import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Confirmation } from './components/dialog.tsx';
import { Page } from './components/page.tsx';
import { Empty } from './components/states.tsx';
import { Toasts } from './components/toasts.tsx';
import { feed, watchVisibility } from './live/browserFeed.ts';
import { startClock } from './live/clock.ts';
import { startNotifications } from './live/notifications.ts';
import { OwnSessions } from './pages/keys/sessionsDialog.tsx';
import { pages } from './pages.tsx';
import { matchPath } from './pattern.ts';
import { href, path } from './router.ts';
import { isSignedIn, may } from './session.ts';
import { Banners } from './shell/banner.tsx';
import { Help, isHelpOpen } from './shell/help.tsx';
import { Navigation } from './shell/navigation.tsx';
import { openPalette, Palette } from './shell/palette.tsx';
import { PauseDialog } from './shell/queueSwitch.tsx';
import { startShortcuts, useShortcut } from './shell/shortcuts.ts';
import { SignIn } from './shell/signIn.tsx';

/** The dashboard: the sign-in page, or the page of the current place within the shell. */
export function App(): JSX.Element {
  return (
    <>
      {isSignedIn.value ? <SignedIn /> : <SignIn />}
      <Toasts />
    </>
  );
}

function SignedIn(): JSX.Element {
  useEffect(() => {
    feed.start();
    const ends = [startNotifications(), startClock(), watchVisibility(), startShortcuts(openPalette)];
    return () => {
      for (const end of ends) end();
      feed.stop();
    };
  }, []);
  useShortcut('?', 'Show this list', () => {
    isHelpOpen.value = true;
  });
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.querySelector('h1')?.focus()}>
        Skip to the content
      </button>
      <Navigation />
      <div class="content">
        <Banners />
        <main>
          <CurrentPage />
        </main>
      </div>
      <Palette />
      <Help />
      <OwnSessions />
      <Confirmation />
      <PauseDialog />
    </div>
  );
}

/**
 * A new page puts the focus on its heading, also for screen readers; not the first one, nor one that focuses a field.
 */
function useFocusOnHeading(): void {
  const shown = useRef(path.value);
  useEffect(() => {
    if (shown.current === path.value) return;
    shown.current = path.value;
    const main = document.querySelector('main');
    if (main?.contains(document.activeElement) !== true)
      main?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
  });
}

function CurrentPage(): JSX.Element {
  useFocusOnHeading();
  for (const { pattern, view: View, needs } of pages) {
    const params = matchPath(pattern, path.value);
    if (params === null || (needs !== undefined && !may(needs))) continue;
    // Another job is another page: it must not keep state of the one before.
    return <View key={`${pattern} ${Object.values(params).join()}`} params={params} />;
  }
  return (
    <Page title="Not here">
      <Empty title="There is no such page, or your key may not see it.">
        <a href={href('/')}>Go to the overview</a>
      </Empty>
    </Page>
  );
}
