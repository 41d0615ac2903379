import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { environmentKeyId, isLastAdmin } from '../../../domain/key.ts';
import type { WireKey, WireNewKey } from '../../../domain/wire/key.ts';
import { Button } from '../../components/button.tsx';
import { Countdown } from '../../components/countdown.tsx';
import { confirm } from '../../components/dialog.tsx';
import { Icon } from '../../components/icons.tsx';
import { Page } from '../../components/page.tsx';
import { useLoaded } from '../../components/resource.ts';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { TableHead } from '../../components/tableHead.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toasts.tsx';
import { now } from '../../live/clock.ts';
import { api } from '../../session.ts';
import { BindKey } from './boundFields.tsx';
import { boundsText } from './bounds.ts';
import { CreateKey, RotateKey, ShowSecret } from './keyDialogs.tsx';
import { revokeConsequence, rolePurposes } from './keyTexts.ts';
import { SessionsDialog } from './sessionsDialog.tsx';

type OpenDialog =
  | { dialog: 'create' }
  | { dialog: 'rotate' | 'bind'; key: WireKey }
  | { dialog: 'secret'; key: WireNewKey }
  | { dialog: 'sessions'; keyId: string; title: string };

/** The API keys and their roles. */
// Over 60 lines: its markup stays in one piece.
export function Keys(): JSX.Element {
  const { loaded, reload } = useLoaded('keys', () => api.peek().keys());
  const { loaded: sessions, reload: reloadSessions } = useLoaded('sessions', () => api.peek().sessions());
  const open = useSignal<OpenDialog | null>(null);
  const close = (): void => {
    open.value = null;
  };
  const show = (key: WireNewKey): void => {
    open.value = { dialog: 'secret', key };
    reload();
  };
  const revoke = async (key: WireKey): Promise<void> => {
    const isAgreed = await confirm({
      title: `Revoke ${nameOf(key)}?`,
      text: revokeConsequence(
        key.role,
        isLastAdmin(loaded.peek().data?.keys ?? [], key.id),
        key.in_data_folder,
      ),
      verb: 'Revoke the key',
      isDangerous: true,
    });
    if (!isAgreed) return;
    await api.peek().revokeKey(key.id);
    notify(`${nameOf(key)} is revoked`);
    reload();
    reloadSessions();
  };
  const { data, error } = loaded.value;
  const shown = open.value;
  const countOf = (keyId: string): number | null =>
    sessions.value.data?.sessions.filter(({ key_id }) => key_id === keyId).length ?? null;
  const ownCount = countOf(environmentKeyId) ?? 0;
  const showSessions = (keyId: string, name: string): void => {
    open.value = { dialog: 'sessions', keyId, title: `Sessions of ${name}` };
  };
  return (
    <Page
      title="Keys"
      actions={
        <Button
          icon="plus"
          kind="primary"
          onClick={() => {
            open.value = { dialog: 'create' };
          }}
        >
          Create a key
        </Button>
      }
    >
      <div class="card">
        {data === null ? (
          error === null ? (
            <Loading lines={5} label="Loading the keys" />
          ) : (
            <Failure error={error} retry={reload} />
          )
        ) : data.keys.length === 0 ? (
          <Empty icon="keys" title="There is no key but the coordinator’s own">
            <p>Give every worker, program and colleague one of its own: it can then be revoked alone.</p>
          </Empty>
        ) : (
          <KeyTable
            keys={data.keys}
            sessionsOf={countOf}
            onSessions={(key) => showSessions(key.id, nameOf(key))}
            onRevoke={revoke}
            onRotate={(key) => {
              open.value = { dialog: 'rotate', key };
            }}
            onBind={(key) => {
              open.value = { dialog: 'bind', key };
            }}
          />
        )}
      </div>
      <p class="hint">
        A key in the coordinator’s environment (<code>SVC_API_KEY</code>) is not in this list; change it
        there.{' '}
        {ownCount === 0 ? null : (
          <Button kind="quiet" onClick={() => showSessions(environmentKeyId, 'SVC_API_KEY')}>
            {sessionsText(ownCount)} of SVC_API_KEY
          </Button>
        )}
      </p>
      {shown?.dialog === 'create' ? <CreateKey onMade={show} onClose={close} /> : null}
      {shown?.dialog === 'rotate' ? <RotateKey of={shown.key} onMade={show} onClose={close} /> : null}
      {shown?.dialog === 'bind' ? (
        <BindKey
          of={shown.key}
          onBound={() => {
            notify(`${nameOf(shown.key)} is changed`);
            close();
            reload();
          }}
          onClose={close}
        />
      ) : null}
      {shown?.dialog === 'sessions' ? (
        <SessionsDialog keyId={shown.keyId} title={shown.title} onEnded={reloadSessions} onClose={close} />
      ) : null}
      {shown?.dialog === 'secret' ? <ShowSecret of={shown.key} onClose={close} /> : null}
    </Page>
  );
}

function nameOf({ name, role }: WireKey): string {
  return name ?? `the ${role} key`;
}

function sessionsText(count: number): string {
  return count === 1 ? '1 session' : `${count} sessions`;
}

const columns = [
  { title: 'Name' },
  { title: 'Role' },
  { title: 'Bound to' },
  { title: 'Created' },
  { title: 'Ends' },
  { title: 'Last used' },
  { title: 'Sessions' },
  { title: 'Old secret' },
  { title: 'Actions', isHidden: true },
];

function KeyTable(props: {
  keys: readonly WireKey[];
  /** How many sessions a key has, by its id; null when unknown. */
  sessionsOf(keyId: string): number | null;
  onSessions(key: WireKey): void;
  onRevoke(key: WireKey): Promise<void>;
  onRotate(key: WireKey): void;
  onBind(key: WireKey): void;
}): JSX.Element {
  return (
    <table class="table stacked">
      <TableHead caption="Keys" columns={columns} />
      <tbody>
        {props.keys.map((key) => (
          <tr key={key.id}>
            <td class="main-cell">
              {key.name ?? <span class="faint">no name</span>} <span class="mono faint key-id">{key.id}</span>
              {key.in_data_folder === true ? (
                <span class="tag" title="The command line on the coordinator’s machine uses it">
                  in admin.key of the data folder
                </span>
              ) : null}
            </td>
            <td data-label="Role">
              <span class="role-name" title={rolePurposes[key.role]}>
                <Icon name={key.role === 'worker' ? 'workers' : 'keys'} />
                {key.role}
              </span>
            </td>
            <td data-label="Bound to">{boundsText(key) ?? <span class="faint">nothing</span>}</td>
            <td data-label="Created">
              <Time at={key.created_at} />
            </td>
            <td data-label="Ends">
              <Ends at={key.expires_at} />
            </td>
            <td data-label="Last used">
              <Time at={key.last_used_at} none="never" />
            </td>
            <td data-label="Sessions">
              <SessionCount count={props.sessionsOf(key.id)} onClick={() => props.onSessions(key)} />
            </td>
            <td data-label="Old secret">
              <OldSecret until={key.previous_valid_until} />
            </td>
            <td class="actions-cell">
              <span class="row-actions">
                {key.role === 'worker' ? <Button onClick={() => props.onBind(key)}>Change</Button> : null}
                <Button onClick={() => props.onRotate(key)}>Rotate</Button>
                <Button kind="danger" onClick={() => props.onRevoke(key)}>
                  Revoke
                </Button>
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How many browsers are signed in with a key, with a link to them. */
function SessionCount({ count, onClick }: { count: number | null; onClick(): void }): JSX.Element {
  if (count === null) return <span class="faint">–</span>;
  if (count === 0) return <span class="faint">none</span>;
  return (
    <Button kind="quiet" onClick={onClick}>
      {sessionsText(count)}
    </Button>
  );
}

function Ends({ at }: { at: string | null }): JSX.Element {
  if (at === null) return <span class="faint">never</span>;
  return Date.parse(at) <= now.value ? (
    <span class="ended">
      <Icon name="warning" /> ended <Time at={at} />
    </span>
  ) : (
    <Time at={at} />
  );
}

/** Until when the previous secret is valid. */
function OldSecret({ until }: { until: string | null }): JSX.Element {
  if (until === null || Date.parse(until) <= now.value) return <span class="faint">none</span>;
  return (
    <span>
      taken for <Countdown until={until} />
    </span>
  );
}
