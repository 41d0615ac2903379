import type { WireJob } from '../domain/wire/job.ts';
import type { Screen } from '../lib/screen.ts';
import type { Column } from '../lib/table.ts';
import {
  costText,
  promptText,
  ranBy,
  ranMs,
  shortId,
  spanText,
  statusColour,
  statusText,
} from './jobText.ts';
import { sheetTable, whenText } from './sheet.ts';

/** From this width on there is room for whole ids. */
const wholeIdWidth = 130;

/** Jobs as a table for people. Whole ids without a terminal: those are for other programs. */
export function jobTable(jobs: readonly WireJob[], screen: Screen, now: number): string[] {
  const isWide = screen.width >= wholeIdWidth;
  const columns: Column<WireJob>[] = [
    { header: 'ID', value: ({ id }) => (isWide ? id : shortId(id)) },
    { header: 'STATUS', value: statusText, paint: (text, job) => screen.paint(statusColour(job), text) },
    { header: 'PROVIDER', value: (job) => ranBy(job).provider ?? '(routed)', shrinkTo: 8 },
    { header: 'MODEL', value: (job) => ranBy(job).model ?? '-', shrinkTo: 6 },
    { header: 'PRIORITY', value: ({ priority }) => priority, shrinkTo: 8 },
    { header: 'AGE', value: ({ created_at }) => whenText(created_at, now), align: 'right' },
    { header: 'RAN', value: (job) => spanText(ranMs(job, now)), align: 'right' },
    { header: 'COST', value: costText, align: 'right' },
    { header: 'PROMPT', value: promptText, shrinkTo: 12 },
  ];
  return sheetTable(columns, jobs, screen);
}
