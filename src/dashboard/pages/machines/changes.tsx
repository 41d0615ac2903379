import type { JSX } from 'preact';
import { Card } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { shortId } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import { href } from '../../router.ts';
import type { Change } from './useMachines.ts';

const shownMax = 15;

/** The latest changes of a machine's actors, newest first. Collected while the page is open, and not kept. */
export function Changes({ changes }: { changes: readonly Change[] }): JSX.Element {
  return (
    <Card title="What just happened" class="machine-changes">
      {changes.length === 0 ? (
        <Empty title="Nothing yet">Changes of state appear here as they happen.</Empty>
      ) : (
        <ol class="change-list">
          {changes.slice(0, shownMax).map((change) => (
            <li key={change.seq} class="change">
              <span class="change-actor">
                <Actor {...change} />
              </span>
              <span class="change-way">
                {change.from ?? 'new'} → <strong>{change.to}</strong>
              </span>
              <span class="change-event">{change.event}</span>
              <span class="change-time">
                <Time at={change.at} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

function Actor({ machine, actor_id }: Change): JSX.Element {
  if (machine !== 'job') return <span class="mono">{shortId(actor_id)}</span>;
  return (
    <a class="mono" href={href(`/jobs/${encodeURIComponent(actor_id)}`)}>
      {shortId(actor_id)}
    </a>
  );
}
