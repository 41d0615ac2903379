import type { JSX } from 'preact';
import type { WireDelivery } from '../../../domain/wire/webhook.ts';
import { Button } from '../../components/button.tsx';
import { Page } from '../../components/page.tsx';
import { useLoaded } from '../../components/resource.ts';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { TableHead } from '../../components/tableHead.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toasts.tsx';
import { api } from '../../session.ts';

const columns = [
  { title: 'Event' },
  { title: 'About' },
  { title: 'State' },
  { title: 'Tries' },
  { title: 'Last answer' },
  { title: 'Next try' },
  { title: 'Created' },
  { title: 'Actions', isHidden: true },
];

/** What was sent to a webhook, and what waits. */
export function Deliveries({ params: { name = '' } }: { params: Record<string, string> }): JSX.Element {
  const { loaded, reload } = useLoaded(name, () => api.peek().webhookDeliveries(name));
  const { data, error } = loaded.value;
  const send = async ({ id, type }: WireDelivery): Promise<void> => {
    await api.peek().sendWebhookDelivery(name, id);
    notify(`${type} is sent again`);
    reload();
  };
  return (
    <Page
      title={`Deliveries to ${name}`}
      actions={
        <Button icon="retry" onClick={reload}>
          Look again
        </Button>
      }
    >
      <div class="card">
        {data === null ? (
          error === null ? (
            <Loading lines={5} label="Loading the deliveries" />
          ) : (
            <Failure error={error} retry={reload} />
          )
        ) : data.deliveries.length === 0 ? (
          <Empty icon="connect" title="Nothing was sent yet">
            <p>What waits is listed here, and the last 100 deliveries that have ended.</p>
          </Empty>
        ) : (
          <table class="table stacked">
            <TableHead caption="Deliveries" columns={columns} />
            <tbody>
              {data.deliveries.map((delivery) => (
                <DeliveryRow key={delivery.id} of={delivery} onSend={() => send(delivery)} />
              ))}
            </tbody>
          </table>
        )}
      </div>
    </Page>
  );
}

function DeliveryRow({ of, onSend }: { of: WireDelivery; onSend(): Promise<void> }): JSX.Element {
  const { type, data, state, tries, last, next_try_at: next, created_at: created } = of;
  return (
    <tr>
      <td class="main-cell">{type}</td>
      <td data-label="About" class="mono">
        {data.name ?? data.id}
      </td>
      <td data-label="State">{state}</td>
      <td data-label="Tries">{tries}</td>
      <td data-label="Last answer">
        {last === null ? (
          <span class="faint">none</span>
        ) : (
          <span title={`${last.ms} ms`}>{last.error ?? last.status}</span>
        )}
      </td>
      <td data-label="Next try">
        <Time at={next} none="–" />
      </td>
      <td data-label="Created">
        <Time at={created} />
      </td>
      <td class="actions-cell">
        <Button onClick={onSend}>{state === 'pending' ? 'Send now' : 'Send again'}</Button>
      </td>
    </tr>
  );
}
