import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { WireJob } from '../../../domain/wire/job.ts';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icons.tsx';
import { Page } from '../../components/page.tsx';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { count, plural } from '../../components/text.ts';
import { feed } from '../../live/browserFeed.ts';
import { now } from '../../live/clock.ts';
import { go, href, place } from '../../router.ts';
import { api, may } from '../../session.ts';
import { BulkBar } from './bulkBar.tsx';
import { saveExport } from './exportJobs.ts';
import { FilterBar } from './filterBar.tsx';
import { askFor, isMatch, readFilters } from './filters.ts';
import { JobList } from './jobList.ts';
import { JobTable } from './jobTable.tsx';
import { Selection } from './selection.ts';

/** All jobs, with search, filters and bulk actions. */
// Over 60 lines: its markup stays in one piece.
export function Jobs(): JSX.Element {
  const filters = readFilters(place.value.query);
  const key = JSON.stringify(filters);
  /** Changes to reload the list. */
  const [turn, setTurn] = useState(0);
  const { list, openedAt } = useMemo(() => {
    const openedAt = now.peek();
    const made = new JobList({
      load: (asked, signal) => api.peek().jobs(asked, signal),
      filters: askFor(filters, openedAt),
      isMatch: (job) => isMatch(job, filters),
      gainsByChange: filters.status.length > 0 || filters.state !== '' || filters.worker !== '',
      after: (ms, run) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
    });
    return { list: made, openedAt };
    // The key represents the filters.
  }, [key, turn]);
  const selection = useMemo(() => new Selection(), [key]);
  useEffect(() => () => list.close(), [list]);
  const changes = { made: useSignal(0), seen: useSignal(0) };
  const shown = useRef({ list, filters });
  shown.current = { list, filters };
  useWaitingKeptTrue(shown);
  // One for all lists, so that a change of filters misses nothing and needs no snapshot.
  useEffect(
    () =>
      feed.listen('jobs', {
        // Earlier events are lost, and the list may have been loaded before them.
        snapshot: () => void shown.current.list.refresh(),
        event: ({ type, data }) => {
          const job = data as WireJob;
          shown.current.list.onEvent(job, type === 'job.created');
          if (isMatch(job, { ...shown.current.filters, status: [] })) changes.seen.value += 1;
        },
      }),
    [changes.seen],
  );
  const { total, isCapped, error, fresh } = list.state.value;
  const showFresh = (): void => {
    setTurn((before) => before + 1);
    window.scrollTo(0, 0);
  };
  return (
    <Page
      title="Jobs"
      beside={
        total === null ? null : (
          <span class="faint">
            {count(total)}
            {isCapped ? ' or more' : ''}
          </span>
        )
      }
      actions={
        <>
          <Button icon="download" onClick={() => saveExport(list.filters, list.signal)}>
            Export
          </Button>
          {may('client') ? (
            <a class="button primary" href={href('/jobs/new')}>
              <Icon name="plus" />
              New job
            </a>
          ) : null}
        </>
      }
    >
      <FilterBar filters={filters} now={openedAt} changes={changes} />
      <div class="fresh-place">
        {fresh === 0 ? null : (
          <button type="button" class="button primary small fresh" onClick={showFresh}>
            {fresh >= 1_000 ? 'More than 1,000 new' : `${count(fresh)} new`}
            <span class="visually-hidden">, show them</span>
          </button>
        )}
      </div>
      <BulkBar
        list={list}
        selection={selection}
        onChanged={() => {
          changes.made.value += 1;
        }}
      />
      {error === null ? null : <Failure error={error} retry={() => list.retry()} />}
      <div class="card flush">
        <JobTable key={`${key} ${turn}`} list={list} selection={selection} />
        {total === null && error === null ? <Loading lines={8} label="Loading jobs" /> : null}
        {total === 0 ? (
          <NoJobs isFiltered={key !== JSON.stringify(readFilters(new URLSearchParams()))} />
        ) : null}
      </div>
      <p class="visually-hidden" role="status">
        {total === null ? '' : plural(total, 'job')}
      </p>
    </Page>
  );
}

/** The reason of a wait changes without an event: while visible rows wait, they are reloaded this often, ms. */
const waitingMs = 15_000;

function useWaitingKeptTrue(shown: { current: { list: JobList } }): void {
  useEffect(() => {
    const timer = setInterval(() => {
      const { list } = shown.current;
      if (!document.hidden && list.hasWaitingInView()) void list.refresh();
    }, waitingMs);
    return () => clearInterval(timer);
  }, [shown]);
}

function NoJobs({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (!isFiltered) {
    return (
      <Empty icon="jobs" title="No jobs yet">
        {may('client') ? <HowToSend /> : 'Jobs of others appear here; your key cannot create any.'}
      </Empty>
    );
  }
  return (
    <Empty icon="search" title="No job fits these filters">
      <Button onClick={() => go(href('/jobs'))}>Remove all filters</Button>
    </Empty>
  );
}

function HowToSend(): JSX.Element {
  return (
    <>
      Send one with <code>svc run "Say hello" --provider echo</code>, with a POST to <code>/api/jobs</code>,
      or with New job above.
    </>
  );
}
