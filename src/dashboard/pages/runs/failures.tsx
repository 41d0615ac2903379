import type { JSX } from 'preact';
import type { WireRun, WireRunFailure } from '../../../domain/wire/run.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/page.tsx';
import { count, plural } from '../../components/text.ts';
import { href } from '../../router.ts';
import { may } from '../../session.ts';
import { retry } from './actions.tsx';
import { byClass } from './failureClasses.ts';

/** Why jobs of the run failed, by cause, with a retry for each class; nothing without failures. */
export function Failures({ run, reload }: { run: WireRun; reload(): void }): JSX.Element | null {
  if (run.failures.length === 0) return null;
  const mayRetry = may('client') && run.status !== 'cancelled';
  return (
    <Card
      title="Failures"
      beside={
        <a href={href('/jobs', { run: run.name, status: 'failed' })}>
          {plural(run.counts.failed, 'failed job')}
        </a>
      }
    >
      <ul class="run-failures">
        {byClass(run.failures).map(({ errorClass, jobs, groups }) => (
          <li key={errorClass}>
            <p class="run-failure-head">
              <strong>{errorClass}</strong>
              <span class="number faint">{plural(jobs, 'job')}</span>
              {mayRetry ? (
                <Button onClick={() => retry(run, errorClass, reload)}>
                  Retry these<span class="visually-hidden"> with {errorClass}</span>
                </Button>
              ) : null}
            </p>
            <Causes groups={groups} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Messages come from providers: they are shown as text. */
function Causes({ groups }: { groups: readonly WireRunFailure[] }): JSX.Element {
  return (
    <ul class="run-causes">
      {groups.map((group) => (
        <li key={`${group.code} ${group.job_id}`}>
          <span class="number">{count(group.count)} ×</span>
          <span class="error-message" dir="auto">
            {group.code === group.class ? null : (
              <>
                <code>{group.code}</code>{' '}
              </>
            )}
            {group.message}
          </span>
          <a href={href(`/jobs/${group.job_id}`)}>
            One of them<span class="visually-hidden"> with {group.code}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
