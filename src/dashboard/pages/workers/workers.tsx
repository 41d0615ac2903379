import type { JSX } from 'preact';
import { type WorkerStatus, workerStatuses } from '../../../domain/states.ts';
import type { WireWorker } from '../../../domain/wire/worker.ts';
import { Badge } from '../../components/badge.tsx';
import { Icon } from '../../components/icons.tsx';
import { Page } from '../../components/page.tsx';
import { Slots } from '../../components/slots.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { TableHead } from '../../components/tableHead.tsx';
import { count } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import { useStats, useWorkers } from '../../live/store.ts';
import { href, place } from '../../router.ts';
import { countByStatus, liveWorkers } from './liveWorkers.ts';
import { WorkerActions } from './workerActions.tsx';

/** All known workers, connected or not. */
export function Workers(): JSX.Element {
  const known = useWorkers();
  const stats = useStats();
  const connect = (
    <a class="button" href={href('/connect')}>
      <Icon name="plus" />
      Connect a worker
    </a>
  );
  if (known.value === null) {
    return (
      <Page title="Workers" actions={connect}>
        <div class="card">
          <Loading lines={6} label="Loading the workers" />
        </div>
      </Page>
    );
  }
  const all = liveWorkers(known.value, stats.value);
  const asked = workerStatuses.find((status) => status === place.value.query.get('status')) ?? null;
  const shown = asked === null ? all : all.filter(({ status }) => status === asked);
  return (
    <Page title="Workers" actions={connect}>
      {all.length === 0 ? (
        <div class="card">
          <Empty icon="workers" title="No worker has ever connected">
            <p>Jobs wait until one that serves their provider is here.</p>
            <a href={href('/connect')}>See how to connect one</a>
          </Empty>
        </div>
      ) : (
        <>
          <StatusTabs all={all} asked={asked} />
          <div class="card">
            {shown.length === 0 ? (
              <Empty icon="workers" title="No worker has this status now" />
            ) : (
              <WorkerTable workers={shown} />
            )}
          </div>
        </>
      )}
    </Page>
  );
}

function StatusTabs({ all, asked }: { all: WireWorker[]; asked: WorkerStatus | null }): JSX.Element {
  const counts = countByStatus(all);
  return (
    <nav class="tabs" aria-label="Workers by status">
      <a href={href('/workers')} aria-current={asked === null ? 'page' : undefined}>
        All <span class="number">{count(all.length)}</span>
      </a>
      {workerStatuses
        .filter((status) => counts.has(status) || status === asked)
        .map((status) => (
          <a
            key={status}
            href={href('/workers', { status })}
            aria-current={status === asked ? 'page' : undefined}
          >
            <Badge status={status} count={count(counts.get(status) ?? 0)} />
          </a>
        ))}
    </nav>
  );
}

const columns = [
  { title: 'Worker' },
  { title: 'Status' },
  { title: 'Slots' },
  { title: 'Providers' },
  { title: 'Heard' },
  { title: 'Completed', isEnd: true, isSpare: true },
  { title: 'Failed', isEnd: true, isSpare: true },
  { title: 'Actions', isHidden: true },
];

function WorkerTable({ workers }: { workers: readonly WireWorker[] }): JSX.Element {
  return (
    <table class="table stacked">
      <TableHead caption="Workers" columns={columns} />
      <tbody>
        {workers.map((worker) => (
          <tr key={worker.id}>
            <td class="main-cell">
              <a href={href(`/workers/${encodeURIComponent(worker.id)}`)}>{worker.name}</a>
              <span class="tag-list">
                {worker.tags.map((tag) => (
                  <span key={tag} class="tag">
                    {tag}
                  </span>
                ))}
              </span>
            </td>
            <td data-label="Status">
              <Badge status={worker.status} />
            </td>
            <td data-label="Slots">
              <Slots taken={worker.running} total={worker.concurrency} />
            </td>
            <td data-label="Providers">
              <span class="tag-list">
                {worker.providers.map((provider) => (
                  <span key={provider} class="tag">
                    {provider}
                  </span>
                ))}
              </span>
            </td>
            <td data-label="Heard">
              <Time at={worker.last_heartbeat_at} none="never" />
            </td>
            <td data-label="Completed" class="end spare">
              {count(worker.completed)}
            </td>
            <td data-label="Failed" class="end spare">
              {count(worker.failed)}
            </td>
            <td class="actions-cell">
              <WorkerActions worker={worker} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
