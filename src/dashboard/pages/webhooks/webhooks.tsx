import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { WireNewWebhook, WireWebhook } from '../../../domain/wire/webhook.ts';
import { Button } from '../../components/button.tsx';
import { confirm } from '../../components/dialog.tsx';
import { Page } from '../../components/page.tsx';
import { useLoaded } from '../../components/resource.ts';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { TableHead } from '../../components/tableHead.tsx';
import { notify } from '../../components/toasts.tsx';
import { href } from '../../router.ts';
import { api } from '../../session.ts';
import { CreateWebhook, ShowWebhookSecret } from './webhookDialogs.tsx';

const columns = [
  { title: 'Name' },
  { title: 'URL' },
  { title: 'State' },
  { title: 'Events' },
  { title: 'Tags' },
  { title: 'Waiting' },
  { title: 'Dropped' },
  { title: 'Actions', isHidden: true },
];

/** Who is notified of what happens. */
export function Webhooks(): JSX.Element {
  const { loaded, reload } = useLoaded('webhooks', () => api.peek().webhooks());
  const open = useSignal<'create' | WireNewWebhook | null>(null);
  const close = (): void => {
    open.value = null;
  };
  const show = (made: WireNewWebhook): void => {
    open.value = made;
    reload();
  };
  const { data, error } = loaded.value;
  const shown = open.value;
  return (
    <Page
      title="Webhooks"
      actions={
        <Button
          icon="plus"
          kind="primary"
          onClick={() => {
            open.value = 'create';
          }}
        >
          Create a webhook
        </Button>
      }
    >
      <div class="card">
        {data === null ? (
          error === null ? (
            <Loading lines={3} label="Loading the webhooks" />
          ) : (
            <Failure error={error} retry={reload} />
          )
        ) : data.webhooks.length === 0 ? (
          <Empty icon="webhooks" title="There is no webhook">
            <p>Create one to have a service of yours notified when jobs and batches end.</p>
          </Empty>
        ) : (
          <table class="table stacked">
            <TableHead caption="Webhooks" columns={columns} />
            <tbody>
              {data.webhooks.map((webhook) => (
                <WebhookRow key={webhook.id} of={webhook} onChanged={reload} onRotated={show} />
              ))}
            </tbody>
          </table>
        )}
      </div>
      {shown === 'create' ? <CreateWebhook onMade={show} onClose={close} /> : null}
      {shown === null || shown === 'create' ? null : <ShowWebhookSecret of={shown} onClose={close} />}
    </Page>
  );
}

// Over 60 lines: its markup stays in one piece.
function WebhookRow(props: {
  of: WireWebhook;
  onChanged(): void;
  onRotated(made: WireNewWebhook): void;
}): JSX.Element {
  const { name, url, enabled, stopped, events, tags, pending, dropped } = props.of;
  const toggle = async (): Promise<void> => {
    await api.peek().changeWebhook(name, { enabled: !enabled });
    notify(`${name} is ${enabled ? 'paused' : 'enabled'}`);
    props.onChanged();
  };
  const test = async (): Promise<void> => {
    const { delivered, status, error, ms } = await api.peek().testWebhook(name);
    notify(delivered ? `It arrived: ${status} after ${ms} ms` : `It did not arrive: ${error ?? status}`);
  };
  const remove = async (): Promise<void> => {
    const isAgreed = await confirm({
      title: `Delete ${name}?`,
      text: 'What waits for it is dropped. This cannot be undone.',
      verb: 'Delete the webhook',
      isDangerous: true,
    });
    if (!isAgreed) return;
    await api.peek().deleteWebhook(name);
    notify(`${name} is deleted`);
    props.onChanged();
  };
  return (
    <tr>
      <td class="main-cell">
        <a href={href(`/webhooks/${encodeURIComponent(name)}`)}>{name}</a>
      </td>
      <td data-label="URL" class="mono">
        {url}
      </td>
      <td data-label="State">{stopped === null ? 'enabled' : stopped.reason}</td>
      <td data-label="Events">{events === null ? 'all' : events.join(' ') || 'only where it is named'}</td>
      <td data-label="Tags">{tags === null ? <span class="faint">any</span> : tags.join(' ')}</td>
      <td data-label="Waiting">{pending}</td>
      <td data-label="Dropped">{dropped}</td>
      <td class="actions-cell">
        <span class="row-actions">
          <Button onClick={test}>Test</Button>
          <Button onClick={toggle}>{enabled ? 'Pause' : 'Resume'}</Button>
          <Button onClick={async () => props.onRotated(await api.peek().rotateWebhook(name))}>Rotate</Button>
          <Button kind="danger" onClick={remove}>
            Delete
          </Button>
        </span>
      </td>
    </tr>
  );
}
