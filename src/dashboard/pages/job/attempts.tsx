import type { JSX } from 'preact';
import type { WireAttempt, WireJob } from '../../../domain/wire/job.ts';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/page.tsx';
import { count, plural, shortId } from '../../components/text.ts';
import { Elapsed, Time } from '../../components/time.tsx';
import { useWorkers } from '../../live/store.ts';
import { href } from '../../router.ts';
import { Cost } from '../jobs/jobCells.tsx';

/** Every attempt: where, how it ended, its usage and its cost; the latest first. */
export function Attempts({ job }: { job: WireJob }): JSX.Element | null {
  const [last, ...earlier] = job.attempts.toReversed();
  if (last === undefined) return null;
  return (
    <Card title="Attempts" beside={<span class="faint number">{count(job.attempts.length)}</span>}>
      <AttemptList attempts={[last]} />
      {earlier.length === 0 ? null : (
        <details class="more">
          <summary>{plural(earlier.length, 'earlier attempt')}</summary>
          <AttemptList attempts={earlier} />
        </details>
      )}
    </Card>
  );
}

function AttemptList({ attempts }: { attempts: readonly WireAttempt[] }): JSX.Element {
  const workers = useWorkers();
  return (
    <ol class="attempts">
      {attempts.map((attempt) => (
        <li key={attempt.number}>
          <Attempt attempt={attempt} worker={workers.value?.get(attempt.worker_id)?.name ?? null} />
        </li>
      ))}
    </ol>
  );
}

function Attempt({ attempt, worker }: { attempt: WireAttempt; worker: string | null }): JSX.Element {
  const { number, provider, model, worker_id, started_at, finished_at, outcome, error, usage } = attempt;
  return (
    <>
      <p class="attempt-head">
        <strong>Attempt {number}</strong>
        <Badge status={outcome ?? 'running'} />
        <span class="faint">
          <Time at={started_at} />
        </span>
      </p>
      <dl class="facts">
        <div>
          <dt>{outcome === null ? 'Running for' : 'Ran for'}</dt>
          <dd>
            <Elapsed from={started_at} to={finished_at} />
          </dd>
        </div>
        <div>
          <dt>Provider, model</dt>
          <dd>
            {provider}
            {model === null ? '' : `, ${model}`}
          </dd>
        </div>
        <div>
          <dt>Worker</dt>
          <dd>
            <a href={href(`/workers/${worker_id}`)}>{worker ?? shortId(worker_id)}</a>
          </dd>
        </div>
        <div>
          <dt>Tokens in, out</dt>
          <dd class="number">
            {usage === null
              ? outcome === null
                ? '–'
                : 'unknown'
              : `${count(usage.input_tokens)}, ${count(usage.output_tokens)}`}
          </dd>
        </div>
        <div>
          <dt>Cost</dt>
          <dd>
            <Cost job={attempt} />
          </dd>
        </div>
      </dl>
      {attempt.usage_implausible === true ? (
        <p class="held tone-warn">
          <span>
            These are more tokens than an attempt can have used: the cost is unknown, and no sum includes
            them.
          </span>
        </p>
      ) : null}
      {error === null ? null : <ErrorText error={error} />}
    </>
  );
}

/** The error message as plain text, because it may contain anything. */
export function ErrorText({ error }: { error: NonNullable<WireJob['error']> }): JSX.Element {
  return (
    <div class="error-text">
      <p>
        <code>{error.class}</code>
        {error.code === null || error.code === error.class ? null : <code>{error.code}</code>}
        {error.status === null ? null : <span>HTTP {error.status}</span>}
      </p>
      <p class="error-message">{error.message}</p>
    </div>
  );
}
