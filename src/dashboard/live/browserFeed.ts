import { liveSubprotocol, ticketPrefix } from '../../domain/liveProtocol.ts';
import { liveUrl } from '../root.ts';
import { api, setRole, signOut } from '../session.ts';
import { notifies } from '../shell/preferences.ts';
import { LiveFeed, type Wire } from './feed.ts';
import { noteEpoch } from './release.ts';

const endedText =
  'Your session has ended: somebody ended it, it expired, or its key is no longer accepted. Sign in again.';
/** A page hidden for this long stops listening, ms: a quick look at another tab then needs no new snapshot. */
const hiddenMs = 30_000;

/** The live events of this page. */
export const feed = new LiveFeed({
  ticket: () => api.peek().ticket(),
  open: openSocket,
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  onRefused: () => signOut(endedText),
  onHello: ({ role, epoch }) => {
    setRole(role);
    void noteEpoch(epoch);
  },
});

function openSocket(ticket: string): Wire {
  const socket = new WebSocket(liveUrl(), [liveSubprotocol, `${ticketPrefix}${ticket}`]);
  const wire: Wire = {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: () => socket.close(),
    onFrame: () => {},
    onClose: () => {},
  };
  socket.addEventListener('message', ({ data }) => wire.onFrame(String(data)));
  socket.addEventListener('close', ({ code }) => wire.onClose(code));
  return wire;
}

/** Listen while the page is visible, or notifies; and retry at once when it becomes visible or the network returns. */
export function watchVisibility(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onVisibility = (): void => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => feed.setPaused(!notifies.peek()), hiddenMs);
    else {
      feed.setPaused(false);
      feed.retryNow();
    }
  };
  const onOnline = (): void => feed.retryNow();
  document.addEventListener('visibilitychange', onVisibility);
  window.addEventListener('online', onOnline);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisibility);
    window.removeEventListener('online', onOnline);
  };
}
