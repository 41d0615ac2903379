import type { JSX } from 'preact';
import { lineOf } from '../../../domain/failure.ts';
import { humanDuration } from '../../../lib/humanTime.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Countdown } from '../../components/countdown.tsx';
import { Card, Page } from '../../components/page.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { count, plural } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import { useProviders, useStats } from '../../live/store.ts';
import { href } from '../../router.ts';
import { may } from '../../session.ts';
import { isHeldUp, liveProviders, type ShownProvider } from './liveProviders.ts';
import { resetProvider } from './resetProvider.ts';

/** All providers: whether requests are sent to them, and what delays them. */
export function Providers(): JSX.Element {
  const known = useProviders();
  const stats = useStats();
  const all = known.value === null ? null : liveProviders(known.value, stats.value);
  return (
    <Page title="Providers">
      {all === null ? (
        <div class="card">
          <Loading lines={6} label="Loading the providers" />
        </div>
      ) : all.length === 0 ? (
        <div class="card">
          <Empty icon="providers" title="No provider is known yet">
            <p>Workers add those that they serve; the configuration can name others.</p>
            <a href={href('/connect')}>Connect a worker</a>
          </Empty>
        </div>
      ) : (
        <div class="provider-cards">
          {all.map((provider) => (
            <ProviderCard key={provider.name} provider={provider} />
          ))}
        </div>
      )}
    </Page>
  );
}

// Over 60 lines: its markup stays in one piece.
function ProviderCard({ provider }: { provider: ShownProvider }): JSX.Element {
  const { name, status, running, slots, waiting, workers } = provider;
  return (
    <Card
      title={name}
      beside={
        <span class="card-tools">
          <Badge status={status} />
          {may('operator') && isHeldUp(provider) ? (
            <Button
              icon="retry"
              onClick={() => resetProvider(name)}
              title="Forget its limits and failures, and send jobs at once"
            >
              Reset
            </Button>
          ) : null}
        </span>
      }
    >
      <Held provider={provider} />
      <dl class="facts provider-facts">
        <div>
          <dt>Running</dt>
          <dd>
            <a class="number" href={href('/jobs', { status: 'running', provider: name })}>
              {count(running)}
            </a>
          </dd>
        </div>
        <div>
          <dt>Waiting for it</dt>
          <dd>
            <a class="number" href={href('/jobs', { status: 'pending', provider: name })}>
              {count(waiting)}
            </a>
          </dd>
        </div>
        <div>
          <dt>Slots of workers</dt>
          <dd class="number">{slots === 0 ? <span class="faint">none</span> : count(slots)}</dd>
        </div>
        <div>
          <dt>At most at a time</dt>
          <dd class="number">{ceiling(provider)}</dd>
        </div>
        <div>
          <dt>Mean time</dt>
          <dd class="number">
            {provider.latency_ms === null ? <span class="faint">–</span> : humanDuration(provider.latency_ms)}
          </dd>
        </div>
        <div>
          <dt>Workers</dt>
          <dd class="number">{workers === 0 ? <span class="faint">none connected</span> : count(workers)}</dd>
        </div>
      </dl>
      <details class="more">
        <summary>Limits, breaker and models</summary>
        <Settings provider={provider} />
      </details>
    </Card>
  );
}

/** How many requests it accepts at a time, and a bar of the running ones. */
function ceiling({ running, max_concurrent: most }: ShownProvider): JSX.Element {
  if (most === null) return <span class="faint">no limit</span>;
  return (
    <span class="ceiling">
      {count(running)} of {count(most)}
      <meter min={0} max={Math.max(1, most)} value={Math.min(running, most)} aria-label="Taken" />
    </span>
  );
}

/** Why jobs are not sent to it now, until when, and what happens then. */
function Held({ provider }: { provider: ShownProvider }): JSX.Element | null {
  const { status, until, limits_in_row: limits, breaker } = provider;
  if (status === 'available') return null;
  const stoppedBy =
    breaker.opened_by === null ? null : (
      <>
        {' '}
        What stopped it: <bdi>{lineOf(breaker.opened_by)}</bdi>
      </>
    );
  if (status === 'probing') {
    return (
      <p class="held tone-info">
        <span>One job is sent to see whether it works again. The others wait for its result.{stoppedBy}</span>
      </p>
    );
  }
  const rest = until === null ? null : <Countdown until={until} />;
  if (status === 'limited') {
    return (
      <p class="held tone-warn">
        <span>
          It answered that its limit is reached{limits > 1 ? `, ${count(limits)} times in a row` : ''}. Jobs
          keep their place.
        </span>
        {rest === null ? null : <strong>{rest}</strong>}
      </p>
    );
  }
  return (
    <p class="held tone-bad">
      <span>
        {count(breaker.failed)} of {plural(breaker.attempts, 'attempt')} failed within{' '}
        {humanDuration(breaker.window_seconds * 1000)}
        {breaker.opens_in_row > 1 ? `, ${count(breaker.opens_in_row)} times in a row` : ''}. One job is tried
        when the time is over.{stoppedBy}
      </span>
      {rest === null ? null : <strong>{rest}</strong>}
    </p>
  );
}

function Settings({ provider }: { provider: ShownProvider }): JSX.Element {
  const { rate_limit: limit, breaker, models, model, configured, changed_at: changedAt } = provider;
  return (
    <dl class="detail-list">
      <dt>Configured</dt>
      <dd>{configured ? 'yes' : 'no; workers or jobs named it, the defaults apply'}</dd>
      <dt>After a 429</dt>
      <dd>
        {limit === null
          ? 'the job fails; providers.defaults.rate_limit in the configuration makes it wait'
          : `waits ${humanDuration(limit.retry_after_seconds * 1000)}, twice as long after each further one, unless the answer says how long; at most ${humanDuration(
              limit.retry_after_max_seconds * 1000,
            )}; a job is tried ${plural(limit.max_retries, 'more time')}`}
      </dd>
      <dt>Breaker</dt>
      <dd>
        {count(breaker.failed)} of {plural(breaker.attempts, 'attempt')} failed now; stops at{' '}
        {Math.round(breaker.ratio * 100)} % of {count(breaker.minimum)} or more within{' '}
        {humanDuration(breaker.window_seconds * 1000)}, for {humanDuration(breaker.open_seconds * 1000)}
      </dd>
      <dt>Model by default</dt>
      <dd>{model ?? <span class="faint">the worker’s choice</span>}</dd>
      <dt>Models</dt>
      <dd class="tag-list">
        {models.length === 0 ? <span class="faint">none reported</span> : null}
        {models.map((one) => (
          <span key={one} class="tag">
            {one}
          </span>
        ))}
      </dd>
      <dt>Changed</dt>
      <dd>
        <Time at={changedAt} none="never" />
      </dd>
    </dl>
  );
}
