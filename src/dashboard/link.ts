import { confirm } from './components/dialog.tsx';
import { failed } from './components/toasts.tsx';
import { followLink, nameOfKey, switchTo } from './session.ts';

/**
 * Handle a sign-in link. If this tab has, or can get, another session, the reader is asked first: the link may be
 * somebody else's. @param key null: it was another link.
 */
export async function openLink(key: string | null): Promise<void> {
  if (key === null || !(await followLink(key))) return;
  const isYes = await confirm({
    title: `Switch to ${nameOfKey(key)}?`,
    text: 'The link that you opened signs in with it. You are signed in with a different one, which this tab then leaves. Switch only if you trust the source of the link.',
    verb: 'Switch',
  });
  if (isYes) await switchTo(key).catch(failed);
}
