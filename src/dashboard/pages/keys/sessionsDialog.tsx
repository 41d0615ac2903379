import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { WireSession } from '../../../domain/wire/key.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { useLoaded } from '../../components/resource.ts';
import { Failure, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toasts.tsx';
import { api, keyId, signOutEverywhere } from '../../session.ts';

/** Whether the dialog with the sessions of the reader's own key is open. */
export const areOwnSessionsOpen = signal(false);

/** The sessions of the reader's own key, while the dialog is open. */
export function OwnSessions(): JSX.Element | null {
  if (!areOwnSessionsOpen.value || keyId.value === null) return null;
  return (
    <SessionsDialog
      keyId={keyId.value}
      title="Sessions of your key"
      onClose={() => {
        areOwnSessionsOpen.value = false;
      }}
    />
  );
}

/** The sessions of a key, with buttons to end them. @param props.onEnded called after one was ended. */
export function SessionsDialog(props: {
  keyId: string;
  title: string;
  onEnded?(): void;
  onClose(): void;
}): JSX.Element {
  const { loaded, reload } = useLoaded(`sessions ${props.keyId}`, () => api.peek().sessions());
  const { data, error } = loaded.value;
  const end = async ({ id, current }: WireSession): Promise<void> => {
    if (current) {
      props.onClose();
      signOutEverywhere();
      return;
    }
    await api.peek().endSession(id);
    notify('The session is ended');
    reload();
    props.onEnded?.();
  };
  const sessions = data?.sessions.filter(({ key_id }) => key_id === props.keyId) ?? [];
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p class="hint">
        Each browser that signs in with a key gets a session. Ending one signs that browser out; the key still
        works.
      </p>
      {error !== null ? (
        <Failure error={error} retry={reload} />
      ) : data === null ? (
        <Loading lines={3} label="Loading the sessions" />
      ) : sessions.length === 0 ? (
        <p>Nobody is signed in with this key.</p>
      ) : (
        <ul class="session-list" aria-label="Sessions">
          {sessions.map((session) => (
            <li key={session.id}>
              <span>
                {session.current ? <span class="tag">this browser</span> : null} Signed in{' '}
                <Time at={session.created_at} />, last used <Time at={session.last_used_at} none="never" />
                <br />
                <span class="hint">
                  <span class="mono">{session.id}</span>, ends <Time at={session.expires_at} />
                </span>
              </span>
              <Button
                kind="danger"
                title={session.current ? 'Signs you out' : `Ends the session ${session.id}`}
                onClick={() => end(session)}
              >
                {session.current ? 'Sign out' : 'End'}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
