import type { JSX } from 'preact';
import type { WireRouteExplanation } from '../../../domain/wire/routing.ts';
import { Card } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';

const outcomes = { chosen: 'chosen', skipped: 'skipped', not_needed: 'not needed' } as const;
const tones = { chosen: 'good', skipped: 'warn', not_needed: 'neutral' } as const;

/** Where a job would run now, and why not elsewhere. */
export function Explanation({ of }: { of: WireRouteExplanation }): JSX.Element {
  const { chosen, why, members } = of;
  return (
    <Card title="It would go">
      <p role="status">
        {chosen === null ? (
          <strong>nowhere: no target is available</strong>
        ) : (
          <>
            to <strong>{chosen.provider}</strong>
            {chosen.model === null ? null : <>, model {chosen.model}</>}
          </>
        )}
        . {why}
      </p>
      <ul class="line-list">
        {members.map((member, index) => (
          <li key={`${index} ${member.provider}`}>
            <span class={`badge tone-${tones[member.outcome]}`}>{outcomes[member.outcome]}</span>
            <span class="line-main">
              {member.provider}
              {member.model === null ? '' : `, ${member.model}`}
              {member.worker === null ? '' : `, worker ${member.worker}`}
              {member.worker_tag === null ? '' : `, a worker tagged ${member.worker_tag}`}
            </span>
            <span class="line-facts">
              {member.why}
              {member.until === null ? null : <Time at={member.until} />}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
