import type { JSX } from 'preact';
import { faultText, lineOf } from '../../../domain/failure.ts';
import type { WireWorker } from '../../../domain/wire/worker.ts';
import { Badge } from '../../components/badge.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Card, Page } from '../../components/page.tsx';
import { Slots } from '../../components/slots.tsx';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { count, dollars, plural } from '../../components/text.ts';
import { Elapsed, Time } from '../../components/time.tsx';
import { useStats, useWorkers } from '../../live/store.ts';
import { go, href } from '../../router.ts';
import { useShortcut } from '../../shell/shortcuts.ts';
import { workerChart } from '../../statechart/charts/worker.ts';
import { Statechart } from '../../statechart/statechart.tsx';
import { jobTitle, shownStatus, Where } from '../jobs/jobCells.tsx';
import { liveWorkers, offers } from './liveWorkers.ts';
import { useRunningJobs } from './useRunningJobs.ts';
import { useWorkerState } from './useWorkerState.ts';
import { WorkerActions } from './workerActions.tsx';

/** One worker: its running jobs, its offer, its state. */
export function Worker({ params: { id = '' } }: { params: Record<string, string> }): JSX.Element {
  const known = useWorkers();
  const stats = useStats();
  useShortcut('u', 'Back to the list', () => go(href('/workers')));
  if (known.value === null) {
    return (
      <Page title="Worker">
        <Loading lines={9} label="Loading the worker" />
      </Page>
    );
  }
  const worker = liveWorkers(known.value, stats.value).find((one) => one.id === id);
  if (worker === undefined) {
    return (
      <Page title="Worker">
        <Empty icon="search" title="There is no worker with this id">
          <p>It may have been forgotten. Its jobs are still there.</p>
          <a href={href('/jobs', { worker: id })}>Its jobs</a>, <a href={href('/workers')}>all workers</a>
        </Empty>
      </Page>
    );
  }
  return <KnownWorker worker={worker} />;
}

// Over 60 lines: its markup stays in one piece.
function KnownWorker({ worker }: { worker: WireWorker }): JSX.Element {
  return (
    <Page
      title={worker.name}
      beside={<Badge status={worker.status} />}
      actions={<WorkerActions worker={worker} />}
    >
      <dl class="card facts">
        <div class="wide-fact">
          <dt>Slots taken</dt>
          <dd>
            <Slots taken={worker.running} total={worker.concurrency} />
          </dd>
        </div>
        <div>
          <dt>Heard</dt>
          <dd>
            <Time at={worker.last_heartbeat_at} none="never" />
          </dd>
        </div>
        <div>
          <dt>{worker.connected ? 'Connected' : 'Last connected'}</dt>
          <dd>
            <Time at={worker.connected_at} none="never" />
          </dd>
        </div>
        <div>
          <dt>Completed</dt>
          <dd class="number">{count(worker.completed)}</dd>
        </div>
        <div>
          <dt>Failed</dt>
          <dd class="number">{count(worker.failed)}</dd>
        </div>
        <div>
          <dt>Host</dt>
          <dd>{worker.host ?? <span class="faint">not reported</span>}</dd>
        </div>
        <div>
          <dt>Version</dt>
          <dd>{worker.version ?? <span class="faint">not reported</span>}</dd>
        </div>
        <div>
          <dt>Kind</dt>
          <dd>{worker.kind}</dd>
        </div>
      </dl>
      {worker.refusals.map((refusal) => (
        <p key={`${refusal.provider} ${refusal.fault} ${refusal.model}`} class="held tone-bad">
          <span>
            It {faultText(refusal)} (<Time at={refusal.at} none="" />
            ): <bdi>{lineOf(refusal.error)}</bdi>. Other workers get its jobs.{' '}
            {refusal.until === null ? (
              'Its next job is a trial'
            ) : (
              <>
                One job retries it: <Time at={refusal.until} none="" />
              </>
            )}
            ; a restart or a resume tries it at once.
          </span>
        </p>
      ))}
      <div class="two-columns">
        <Running worker={worker} />
        <div class="job-column">
          <Offer worker={worker} />
          <Card title="Details" beside={<CopyButton text={worker.id} label="Copy the id" />}>
            <dl class="detail-list">
              <dt>Id</dt>
              <dd class="mono">{worker.id}</dd>
              <dt>Key that its name belongs to</dt>
              <dd>
                {worker.key === null ? (
                  <span class="faint">none yet</span>
                ) : (
                  (worker.key.name ?? worker.key.key_id)
                )}
              </dd>
              <dt>Tags</dt>
              <dd class="tag-list">
                {worker.tags.length === 0 ? <span class="faint">none</span> : null}
                {worker.tags.map((tag) => (
                  <span key={tag} class="tag">
                    {tag}
                  </span>
                ))}
              </dd>
            </dl>
          </Card>
        </div>
      </div>
      <Card title="States">
        <Statechart chart={workerChart} label="States of this worker" current={[useWorkerState(worker)]} />
      </Card>
    </Page>
  );
}

function Running({ worker }: { worker: WireWorker }): JSX.Element {
  const { jobs, error } = useRunningJobs(worker.id);
  const list = jobs.value;
  return (
    <Card title="Running now" beside={<a href={href('/jobs', { worker: worker.id })}>All of its jobs</a>}>
      {list === null ? (
        error.value === null ? (
          <Loading lines={4} label="Loading its jobs" />
        ) : (
          <Failure error={error.value} />
        )
      ) : list.length === 0 ? (
        <Empty icon="jobs" title="It runs no job now" />
      ) : (
        <ul class="line-list" aria-label={plural(list.length, 'running job')}>
          {list.map((job) => (
            <li key={job.id}>
              <a class="line-main" href={href(`/jobs/${job.id}`)} dir="auto">
                {jobTitle(job)}
              </a>
              {job.stuck ? <Badge status={shownStatus(job)} /> : null}
              <span class="line-facts">
                <Where job={job} />
                <Elapsed from={job.attempts.at(-1)?.started_at ?? job.started_at} to={null} />
                {job.cost_usd === null ? null : <span class="number">{dollars(job.cost_usd)}</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** Models shown without expanding. */
const modelsShown = 12;

function Offer({ worker }: { worker: WireWorker }): JSX.Element {
  return (
    <Card title="Providers and models">
      <dl class="offers">
        {offers(worker).map(({ provider, models }) => (
          <div key={provider}>
            <dt>{provider}</dt>
            <dd>
              {models === null ? (
                <span class="faint">any model</span>
              ) : models.length === 0 ? (
                <span class="faint">no model</span>
              ) : (
                <>
                  <Models names={models.slice(0, modelsShown)} />
                  {models.length <= modelsShown ? null : (
                    <details>
                      <summary>{plural(models.length - modelsShown, 'more model')}</summary>
                      <Models names={models.slice(modelsShown)} />
                    </details>
                  )}
                </>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Models({ names }: { names: readonly string[] }): JSX.Element {
  return (
    <span class="tag-list">
      {names.map((name) => (
        <span key={name} class="tag">
          {name}
        </span>
      ))}
    </span>
  );
}
