import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { WireJob } from '../../../domain/wire/job.ts';
import { Badge } from '../../components/badge.tsx';
import { Time } from '../../components/time.tsx';
import { rowWindow } from '../../components/virtualRows.ts';
import { go, href } from '../../router.ts';
import { may } from '../../session.ts';
import { useShortcut } from '../../shell/shortcuts.ts';
import { Cost, Duration, jobTitle, Reason, shownStatus, Tags, Where } from './jobCells.tsx';
import type { JobList } from './jobList.ts';
import { openRowsIn } from './rowClicks.ts';
import type { Selection } from './selection.ts';

/** Heights of a row, px; on a narrow page it has three lines. The style sheet has the same values. */
const rowHeights = { wide: 47, narrow: 83 };
const narrow = window.matchMedia('(max-width: 1000px)');
const marginRows = 12;

/** The visible rows of the list, with space for the others. */
// Over 60 lines: its markup stays in one piece.
export function JobTable({ list, selection }: { list: JobList; selection: Selection }): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const scroll = useSignal({ top: 0, height: window.innerHeight, rowHeight: heightNow() });
  const current = useSignal(-1);
  useEffect(() => {
    const measure = (): void => {
      const top = -(body.current?.getBoundingClientRect().top ?? 0);
      const next = { top, height: window.innerHeight, rowHeight: heightNow() };
      const { top: lastTop, height, rowHeight } = scroll.peek();
      // The margin covers a movement of a few rows.
      const isNear = Math.abs(top - lastTop) < (marginRows / 2) * rowHeight;
      if (!isNear || next.height !== height || next.rowHeight !== rowHeight) scroll.value = next;
    };
    measure();
    window.addEventListener('scroll', measure, { passive: true });
    window.addEventListener('resize', measure);
    return () => {
      window.removeEventListener('scroll', measure);
      window.removeEventListener('resize', measure);
    };
  }, [scroll]);
  useEffect(() => (body.current === null ? undefined : openRowsIn(body.current)), []);
  const { total } = list.state.value;
  const count = total ?? 0;
  const { top: scrollTop, height: viewHeight, rowHeight } = scroll.value;
  const shown = rowWindow({ count, rowHeight, scrollTop, viewHeight, margin: marginRows });
  useEffect(() => list.ensure(shown.from, shown.to), [list, shown.from, shown.to]);
  const move = (by: number): void => {
    const next = Math.min(Math.max(0, current.peek() + by), count - 1);
    current.value = next;
    showRow(body.current, next, rowHeight);
  };
  useShortcut('j', 'Next job', () => move(1));
  useShortcut('k', 'Previous job', () => move(-1));
  useShortcut('Enter', 'Open the job', () => {
    const job = list.row(current.peek());
    if (job !== undefined) go(href(`/jobs/${job.id}`));
  });
  useShortcut('x', 'Select the job', () => {
    const job = list.row(current.peek());
    if (job !== undefined && may('client')) selection.toggle(current.peek(), job.id, null);
  });
  const mayAct = may('client');
  const isSelected = (job: WireJob | undefined): boolean => job !== undefined && selection.has(job.id);
  const indexes = Array.from({ length: shown.to - shown.from }, (_, offset) => shown.from + offset);
  return (
    <table class={mayAct ? 'job-table' : 'job-table read-only'} aria-label="Jobs" aria-rowcount={count + 1}>
      <thead class="job-table-head">
        <tr aria-rowindex={1} class="job-row">
          {mayAct ? <HeadCheck list={list} selection={selection} from={shown.from} to={shown.to} /> : null}
          <th scope="col">Status</th>
          <th scope="col">Prompt</th>
          <th scope="col">Provider, model</th>
          <th scope="col" class="priority-cell">
            Priority
          </th>
          <th scope="col" class="attempts-cell end">
            Attempts
          </th>
          <th scope="col" class="end">
            Took
          </th>
          <th scope="col" class="cost-cell end">
            Cost
          </th>
          <th scope="col" class="end">
            Created
          </th>
        </tr>
      </thead>
      <tbody ref={body} style={{ paddingTop: `${shown.before}px`, paddingBottom: `${shown.after}px` }}>
        {indexes.map((index) => (
          <Row
            key={index}
            index={index}
            job={list.row(index)}
            list={list}
            selection={selection}
            isSelected={isSelected(list.row(index))}
            isCurrent={index === current.value}
            mayAct={mayAct}
          />
        ))}
      </tbody>
    </table>
  );
}

function heightNow(): number {
  return narrow.matches ? rowHeights.narrow : rowHeights.wide;
}

/** Scroll just enough to show the row. */
function showRow(body: HTMLElement | null, index: number, rowHeight: number): void {
  if (body === null) return;
  const top = body.getBoundingClientRect().top + index * rowHeight;
  const headHeight = 100;
  if (top < headHeight) window.scrollBy(0, top - headHeight);
  else if (top + rowHeight > window.innerHeight) window.scrollBy(0, top + rowHeight - window.innerHeight);
}

/** Selects the visible rows, or clears the selection. */
function HeadCheck(props: { list: JobList; selection: Selection; from: number; to: number }): JSX.Element {
  const { list, selection, from, to } = props;
  const isOn = useComputed(() => !selection.isEmpty.value);
  const choose = (): void => {
    if (isOn.peek()) selection.clear();
    else selection.setMany(idsBetween(list, from, to - 1));
  };
  return (
    <th scope="col" class="check-cell">
      <input type="checkbox" aria-label="Select the jobs in view" checked={isOn.value} onChange={choose} />
    </th>
  );
}

function idsBetween(list: JobList, from: number, to: number): string[] {
  const ids: string[] = [];
  for (let index = from; index <= to; index += 1) {
    const job = list.row(index);
    if (job !== undefined) ids.push(job.id);
  }
  return ids;
}

interface RowProps {
  index: number;
  /** undefined while loading. */
  job: WireJob | undefined;
  isSelected: boolean;
  list: JobList;
  selection: Selection;
  isCurrent: boolean;
  mayAct: boolean;
}

function Row({ index, job, list, selection, isSelected, isCurrent, mayAct }: RowProps): JSX.Element {
  if (job === undefined) {
    return (
      <tr class="job-row" aria-rowindex={index + 2}>
        <td class="skeleton row-skeleton">
          <span class="visually-hidden">Loading</span>
        </td>
      </tr>
    );
  }
  const title = jobTitle(job);
  const classes = `job-row${isSelected ? ' selected' : ''}${isCurrent ? ' current' : ''}`;
  return (
    <tr class={classes} aria-rowindex={index + 2}>
      {mayAct ? (
        <td class="check-cell">
          <input
            type="checkbox"
            aria-label={`Select: ${title}`}
            checked={isSelected}
            onClick={(event) => {
              const reach = event.shiftKey ? (from: number, to: number) => idsBetween(list, from, to) : null;
              selection.toggle(index, job.id, reach);
            }}
          />
        </td>
      ) : null}
      <td class="status-cell">
        <Badge status={shownStatus(job)} />
      </td>
      <td class="title-cell">
        <span class="title-line">
          <a href={href(`/jobs/${job.id}`)} title={title} dir="auto">
            {title}
          </a>
          <Tags tags={job.tags} />
        </span>
        <Reason job={job} />
      </td>
      <td class="where-cell">
        <Where job={job} />
      </td>
      <td class="priority-cell">{job.priority}</td>
      <td class="attempts-cell end">{job.attempt_count}</td>
      <td class="duration-cell end">
        <Duration job={job} />
      </td>
      <td class="cost-cell end">
        <Cost job={job} />
      </td>
      <td class="created-cell end">
        <Time at={job.created_at} />
      </td>
    </tr>
  );
}
