import type { JSX } from 'preact';
import type { WaitingReason } from '../../../domain/waiting.ts';
import type { WireJob } from '../../../domain/wire/job.ts';
import { Icon } from '../../components/icons.tsx';
import { Card } from '../../components/page.tsx';
import { count, plural } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import { href } from '../../router.ts';
import { ErrorText } from './attempts.tsx';

interface Reason {
  title: string;
  /** What ends the wait. */
  advice: string;
  link: { text: string; to: string } | null;
}

const workersLink = { text: 'Workers', to: '/workers' };
const runsLink = { text: 'Runs', to: '/runs' };
const providersLink = { text: 'Providers', to: '/providers' };

/** The meaning of each reason, with a link to act on it. */
const reasons: Record<WaitingReason, Reason> = {
  no_worker: {
    title: 'No worker is connected that can run it',
    advice: 'Connect one that serves its provider and model.',
    link: { text: 'Connect a worker', to: '/connect' },
  },
  workers_paused: {
    title: 'Every worker that can run it is paused, draining or silent',
    advice: 'Resume one, or start another.',
    link: workersLink,
  },
  concurrency_zero: {
    title: 'Every worker that can run it has no slots',
    advice: 'Give one a concurrency of 1 or more.',
    link: workersLink,
  },
  workers_unhealthy: {
    title: 'Every worker that can run it is set aside after failures',
    advice: 'They are retried automatically. Fix what failed there to start it sooner.',
    link: workersLink,
  },
  workers_busy: {
    title: 'Every slot is taken',
    advice: 'It starts when one is free. More workers or more slots make it sooner.',
    link: workersLink,
  },
  provider_limited: {
    title: 'The provider reported that its limit is reached',
    advice: 'It is retried automatically; more workers do not help.',
    link: providersLink,
  },
  provider_open: {
    title: 'The provider is stopped: too many attempts failed',
    advice: 'After a while one job is sent to see whether it works again. A reset sends jobs at once.',
    link: providersLink,
  },
  provider_full: {
    title: 'The provider has reached its maximum of running requests',
    advice: 'It starts when one of them ends.',
    link: providersLink,
  },
  delayed: { title: 'It starts at a later time', advice: 'It starts automatically.', link: null },
  queue_paused: {
    title: 'The queue is paused',
    advice: 'Running jobs continue.',
    link: { text: 'Overview', to: '/' },
  },
  run_paused: {
    title: 'Its run is paused',
    advice: 'Running jobs of the run continue.',
    link: runsLink,
  },
  run_budget: {
    title: 'Running jobs may need the rest of the budget of its run',
    advice: 'It starts when one of them ends and has cost less.',
    link: runsLink,
  },
  draining: {
    title: 'The coordinator assigns no jobs now',
    advice: 'It is shutting down.',
    link: null,
  },
};

/** Where to act on a reason; null when there is no such place. @param run the job's run; null when it has none. */
export function linkOfReason(reason: WaitingReason, run: string | null): Reason['link'] {
  const { link } = reasons[reason];
  return link === runsLink && run !== null ? { text: `Run ${run}`, to: `/runs/${run}` } : link;
}

/** Why a pending job has not started, and what would end the wait. @param props.run as in `linkOfReason`. */
export function WhyWaiting(props: {
  waiting: NonNullable<WireJob['waiting']>;
  run: string | null;
}): JSX.Element {
  const { waiting, run } = props;
  const { title, advice } = reasons[waiting.reason];
  const link = linkOfReason(waiting.reason, run);
  return (
    <section class="notice tone-info" aria-label="Why it waits">
      <Icon name="pending" />
      <div>
        <p class="notice-title">{title}</p>
        <p>
          {waiting.detail}. {advice}
          {waiting.until === null ? null : (
            <>
              {' '}
              Until: <Time at={waiting.until} />.
            </>
          )}
          {waiting.position === null ? null : ` Place in its queue: ${count(waiting.position)}.`}
        </p>
        {link === null ? null : (
          <p>
            <a href={href(link.to)}>{link.text}</a>
          </p>
        )}
      </div>
    </section>
  );
}

/** What happens to a job whose worker is gone. */
export function WhyStuck(): JSX.Element {
  return (
    <section class="notice tone-warn" aria-label="Why it is stuck">
      <Icon name="warning" />
      <div>
        <p class="notice-title">Its worker crashed or lost the connection</p>
        <p>
          If the worker returns in time, the job continues. Otherwise it returns to the queue automatically,
          and at once by Retry.
        </p>
      </div>
    </section>
  );
}

/** Why a job has failed. */
export function WhyFailed({ error }: { error: NonNullable<WireJob['error']> }): JSX.Element {
  return (
    <section class="notice tone-bad" aria-label="Why it failed">
      <Icon name="failed" />
      <div>
        <p class="notice-title">It failed, and nothing was left to try</p>
        <ErrorText error={error} />
      </div>
    </section>
  );
}

/** Routing steps shown without expanding. */
const stepsShown = 3;

/** The targets considered for the job and why, in order. */
export function Routing({ job }: { job: WireJob }): JSX.Element | null {
  const { route } = job;
  if (route.length === 0) return null;
  const earlier = route.slice(0, -stepsShown);
  return (
    <Card title="Routing">
      {earlier.length === 0 ? null : (
        <details class="earlier">
          <summary>{plural(earlier.length, 'earlier step')}</summary>
          <Steps of={earlier} />
        </details>
      )}
      <Steps of={route.slice(-stepsShown)} />
    </Card>
  );
}

function Steps({ of }: { of: WireJob['route'] }): JSX.Element {
  return (
    <ol class="route">
      {of.map((step, index) => (
        <li key={`${index} ${step.at}`}>
          <Icon
            name={step.outcome === 'chosen' ? 'check' : step.outcome === 'failed' ? 'failed' : 'cancelled'}
          />
          <span>
            <strong>{step.provider}</strong>
            {step.model === null ? '' : ` ${step.model}`} {step.outcome}: {step.why}
          </span>
          <span class="faint">
            <Time at={step.at} />
          </span>
        </li>
      ))}
    </ol>
  );
}
