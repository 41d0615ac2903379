import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { auditActions } from '../../../domain/audit.ts';
import type { WireAuditEntry } from '../../../domain/wire/audit.ts';
import { actorText, detailsText, targetText } from '../../../domain/wire/auditText.ts';
import { Button } from '../../components/button.tsx';
import { EditedInput } from '../../components/editedInput.tsx';
import { Icon } from '../../components/icons.tsx';
import { Page } from '../../components/page.tsx';
import { useLoaded } from '../../components/resource.ts';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { TableHead } from '../../components/tableHead.tsx';
import { count } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import { place, setQuery } from '../../router.ts';
import { api } from '../../session.ts';

/** Entries shown at first, and added at a time. */
const step = 100;
const shownMax = 1_000;

/** Who did what, and what was refused. The filters are in the address. */
// Over 60 lines: its markup stays in one piece.
export function Audit(): JSX.Element {
  const { query } = place.value;
  const action = auditActions.find((one) => one === query.get('action'));
  const actor = query.get('actor') ?? '';
  const limit = useSignal(step);
  const asked = { action, actor: actor === '' ? undefined : actor, limit: limit.value };
  const { loaded, reload } = useLoaded(JSON.stringify(asked), () => api.peek().audit(asked));
  const { data, error } = loaded.value;
  return (
    <Page
      title="Audit"
      actions={
        <Button icon="retry" onClick={reload}>
          Look again
        </Button>
      }
    >
      <div class="more-filters">
        <label class="field">
          <span>Action</span>
          <select
            value={action ?? ''}
            onChange={({ currentTarget }) => setQuery({ action: currentTarget.value })}
          >
            <option value="">All</option>
            {auditActions.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Key</span>
          <EditedInput
            type="text"
            placeholder="Name or id"
            value={actor}
            onChange={({ currentTarget }) => setQuery({ actor: currentTarget.value.trim() })}
          />
        </label>
      </div>
      <div class="card">
        {data === null ? (
          error === null ? (
            <Loading lines={8} label="Loading the audit log" />
          ) : (
            <Failure error={error} retry={reload} />
          )
        ) : data.entries.length === 0 ? (
          <Empty icon="audit" title="No entries">
            <p>Changes by operators and admins are recorded here, and what was refused to a key.</p>
          </Empty>
        ) : (
          <AuditTable entries={data.entries} />
        )}
      </div>
      {data !== null && data.total > data.entries.length ? (
        <p class="hint">
          {count(data.entries.length)} of {count(data.total)}
          {data.total_capped === true ? ' or more' : ''}.{' '}
          {limit.value < shownMax ? (
            <Button
              kind="quiet"
              onClick={() => {
                limit.value = Math.min(limit.peek() + step, shownMax);
              }}
            >
              Show more
            </Button>
          ) : (
            'Narrow them by action or key, or use svc audit.'
          )}
        </p>
      ) : null}
    </Page>
  );
}

const columns = [
  { title: 'When' },
  { title: 'Key' },
  { title: 'Action' },
  { title: 'Target' },
  { title: 'From' },
  { title: 'Details' },
];

function AuditTable({ entries }: { entries: readonly WireAuditEntry[] }): JSX.Element {
  return (
    <table class="table stacked audit">
      <TableHead caption="Audit log" columns={columns} />
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.seq}>
            <td class="main-cell">
              <Time at={entry.at} />
            </td>
            <td data-label="Key">
              {actorText(entry)} <span class="faint">{entry.actor?.role}</span>
            </td>
            <td data-label="Action">
              {entry.outcome === 'refused' ? <Icon name="warning" /> : null} {entry.action}
            </td>
            <td data-label="Target">{targetText(entry)}</td>
            <td data-label="From" class="mono">
              {entry.from.address ?? '–'}
            </td>
            <td data-label="Details">{detailsText(entry) || <span class="faint">none</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
