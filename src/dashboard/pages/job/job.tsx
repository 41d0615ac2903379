import type { JSX } from 'preact';
import { ApiError } from '../../../client/errors.ts';
import type { WireJob } from '../../../domain/wire/job.ts';
import { phasesOf, waitedMs } from '../../../domain/wire/jobPhases.ts';
import { humanDuration } from '../../../lib/humanTime.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { confirm } from '../../components/dialog.tsx';
import { Icon } from '../../components/icons.tsx';
import { Card, Page } from '../../components/page.tsx';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { beginning, count } from '../../components/text.ts';
import { Elapsed, Time } from '../../components/time.tsx';
import { notify } from '../../components/toasts.tsx';
import { now } from '../../live/clock.ts';
import { go, href } from '../../router.ts';
import { api, may } from '../../session.ts';
import { useShortcut } from '../../shell/shortcuts.ts';
import { Cost, jobTitle, shownStatus, Where } from '../jobs/jobCells.tsx';
import { Attempts } from './attempts.tsx';
import { LiveOutput } from './output.tsx';
import { ResultText } from './resultText.tsx';
import { States } from './states.tsx';
import { TextBlock } from './textBlock.tsx';
import { Timeline } from './timeline.tsx';
import { type FollowedJob, useJob } from './useJob.ts';
import { Routing, WhyFailed, WhyStuck, WhyWaiting } from './why.tsx';

/** The longest heading, characters; the whole prompt is below it. */
const titleMax = 120;

/** One job: its request, its output, its history. */
export function Job({ params: { id = '' } }: { params: Record<string, string> }): JSX.Element {
  const followed = useJob(id);
  const { job, error, reload } = followed;
  useShortcut('u', 'Back to the list', () => go(href('/jobs')));
  if (job === null) {
    const isGone = error instanceof ApiError && error.status === 404;
    return (
      <Page title="Job">
        {isGone ? (
          <Empty icon="search" title="There is no job with this id">
            <p>
              <code>{id}</code>
            </p>
            <a href={href('/jobs')}>All jobs</a>
          </Empty>
        ) : error === null ? (
          <Loading lines={9} label="Loading the job" />
        ) : (
          <Failure error={error} retry={reload} />
        )}
      </Page>
    );
  }
  return <KnownJob job={job} followed={followed} />;
}

function KnownJob({ job, followed }: { job: WireJob; followed: FollowedJob }): JSX.Element {
  const whole = jobTitle(job);
  const title = whole.length > titleMax ? `${beginning(whole, titleMax)} …` : whole;
  const { result } = job;
  return (
    <Page
      title={title}
      beside={<Badge status={shownStatus(job)} />}
      actions={<Actions job={job} reload={followed.reload} />}
    >
      <Facts job={job} />
      {job.waiting === null ? null : <WhyWaiting waiting={job.waiting} run={job.run?.name ?? null} />}
      {job.stuck ? <WhyStuck /> : null}
      {job.error === null ? null : <WhyFailed error={job.error} />}
      <div class="job-columns">
        <div class="job-column">
          {job.status === 'running' ? <LiveOutput output={followed.output.value} /> : null}
          {result == null ? null : (
            <ResultText
              title="Result"
              text={result.output}
              beside={
                <span class="faint">{result.finish_reason === 'stop' ? null : result.finish_reason}</span>
              }
            />
          )}
          {result?.tool_calls === undefined ? null : (
            <TextBlock title="Tool calls" text={JSON.stringify(result.tool_calls, null, 2)} />
          )}
          {job.prompt === null ? null : <TextBlock title="Prompt" text={job.prompt} />}
          {job.messages === null ? null : <Messages messages={job.messages} />}
          {(job.input ?? '') === '' ? null : <TextBlock title="Input" text={job.input ?? ''} />}
        </div>
        <div class="job-column">
          <Timeline job={job} />
          <Attempts job={job} />
          <Routing job={job} />
          <Details job={job} />
        </div>
      </div>
      <States id={job.id} changedAt={`${job.updated_at} ${job.stuck}`} />
    </Page>
  );
}

function Actions({ job, reload }: { job: WireJob; reload(): void }): JSX.Element | null {
  const mayCancel = may('client') && (job.status === 'pending' || job.status === 'running');
  const mayRetry = may('client') && (job.status === 'failed' || job.stuck);
  const cancel = async (): Promise<void> => {
    const isAgreed = await confirm({
      title: 'Cancel this job?',
      text: 'It ends at once and cannot be resumed. The cost of its attempts remains.',
      verb: 'Cancel the job',
      isDangerous: true,
    });
    if (!isAgreed) return;
    await api.peek().cancel(job.id);
    notify('The job is cancelled');
    reload();
  };
  const retry = async (): Promise<void> => {
    await api.peek().retry(job.id);
    notify('The job is back in the queue');
    reload();
  };
  return (
    <>
      {mayRetry ? (
        <Button icon="retry" kind="primary" onClick={retry}>
          Retry
        </Button>
      ) : null}
      {may('client') ? (
        <a class="button" href={href('/jobs/new', { from: job.id })}>
          <Icon name="copy" />
          Duplicate
        </a>
      ) : null}
      {mayCancel ? (
        <Button icon="stop" kind="danger" onClick={cancel}>
          Cancel
        </Button>
      ) : null}
    </>
  );
}

/** The most important figures. */
function Facts({ job }: { job: WireJob }): JSX.Element {
  const { result } = job;
  const phases = phasesOf(job, job.finished_at === null ? now.value : 0);
  const speed =
    result == null ? null : speedOf(result.usage.output_tokens, result.latency_ms, result.first_token_ms);
  return (
    <dl class="card facts job-facts">
      <div>
        <dt>Waited</dt>
        <dd class="number">{humanDuration(waitedMs(phases))}</dd>
      </div>
      <div>
        <dt>{job.status === 'running' ? 'Running for' : 'Ran for'}</dt>
        <dd>
          <Elapsed from={job.started_at} to={job.finished_at} />
        </dd>
      </div>
      <div>
        <dt>First token after</dt>
        <dd class="number">{result?.first_token_ms == null ? '–' : humanDuration(result.first_token_ms)}</dd>
      </div>
      <div>
        <dt>Tokens in, out</dt>
        <dd class="number">
          {result == null ? '–' : `${count(result.usage.input_tokens)}, ${count(result.usage.output_tokens)}`}
        </dd>
      </div>
      <div>
        <dt>Tokens a second</dt>
        <dd class="number">{speed === null ? '–' : count(Math.round(speed))}</dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>
          <Cost job={job} />
        </dd>
      </div>
      <div>
        <dt>Provider, model</dt>
        <dd>
          <Where job={job} />
        </dd>
      </div>
      <div>
        <dt>Attempts</dt>
        <dd class="number">{count(job.attempt_count)}</dd>
      </div>
      <div>
        <dt>Priority</dt>
        <dd>{job.priority}</dd>
      </div>
      <div>
        <dt>Created</dt>
        <dd>
          <Time at={job.created_at} />
        </dd>
      </div>
    </dl>
  );
}

/** Tokens a second after the first token; null when unknown. */
function speedOf(tokens: number, latencyMs: number, firstTokenMs: number | null): number | null {
  const ms = latencyMs - (firstTokenMs ?? 0);
  return tokens > 1 && ms > 0 ? (tokens * 1000) / ms : null;
}

function Messages({ messages }: { messages: NonNullable<WireJob['messages']> }): JSX.Element {
  return (
    <>
      {messages.map(({ role, content }, index) => {
        const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
        return <TextBlock key={`${index} ${role}`} title={`Message: ${role}`} text={text} />;
      })}
    </>
  );
}

function RunLine({ run }: { run: NonNullable<WireJob['run']> }): JSX.Element {
  return (
    <>
      <dt>Run</dt>
      <dd>
        <a href={href(`/runs/${run.name}`)}>{run.name}</a>
      </dd>
      <dt>Line</dt>
      <dd dir="auto">{run.line_id}</dd>
    </>
  );
}

/** The rest of the request, and the job's labels. */
// Over 60 lines: its markup stays in one piece.
function Details({ job }: { job: WireJob }): JSX.Element {
  const {
    id,
    tags,
    tier,
    params,
    metadata,
    timeout_seconds: timeout,
    not_before: notBefore,
    created_by: by,
  } = job;
  const params_ = Object.entries(params);
  const lines = Object.entries(metadata);
  return (
    <Card title="Details" beside={<CopyButton text={id} label="Copy the id" />}>
      <dl class="detail-list">
        <dt>Id</dt>
        <dd class="mono">{id}</dd>
        <dt>Asked for</dt>
        <dd>
          {job.provider ?? 'a provider by routing'}
          {job.model === null ? '' : `, ${job.model}`}
        </dd>
        {job.run === null ? null : <RunLine run={job.run} />}
        {tags.length === 0 ? null : (
          <>
            <dt>Tags</dt>
            <dd class="tag-list">
              {tags.map((tag) => (
                <a key={tag} class="tag" href={href('/jobs', { tag })}>
                  {tag}
                </a>
              ))}
            </dd>
          </>
        )}
        {tier === null ? null : (
          <>
            <dt>Tier</dt>
            <dd>{tier}</dd>
          </>
        )}
        {by === null ? null : (
          <>
            <dt>Sent by</dt>
            <dd>
              <a href={href('/jobs', { created_by: by.key_id })}>{by.name ?? by.key_id}</a>
            </dd>
          </>
        )}
        {timeout === null ? null : (
          <>
            <dt>Timeout</dt>
            <dd>{timeout === 0 ? 'none' : humanDuration(timeout * 1000)}</dd>
          </>
        )}
        {notBefore === null ? null : (
          <>
            <dt>Not before</dt>
            <dd>
              <Time at={notBefore} />
            </dd>
          </>
        )}
        {job.retry_count + job.reap_count === 0 ? null : (
          <>
            <dt>Retries, lost workers</dt>
            <dd>
              {job.retry_count}, {job.reap_count}
            </dd>
          </>
        )}
        {lines.map(([name, value]) => (
          <>
            <dt key={`${name} name`}>{name}</dt>
            <dd key={name}>{value}</dd>
          </>
        ))}
      </dl>
      {params_.length === 0 ? null : (
        <details class="params">
          <summary>Parameters</summary>
          <pre class="text-block wrapped">{JSON.stringify(params, null, 2)}</pre>
        </details>
      )}
    </Card>
  );
}
