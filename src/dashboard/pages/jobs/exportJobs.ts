import type { JobFilters } from '../../../client/client.ts';
import { saveFile } from '../../components/saveFile.ts';
import { plural } from '../../components/text.ts';
import { notify } from '../../components/toasts.tsx';
import { api } from '../../session.ts';

/** Jobs in one part of the file. */
const linesPerPart = 500;

/** Save every matching job to a file, one a line. @throws ApiError, Unreachable. */
export async function saveExport(filters: JobFilters, signal: AbortSignal): Promise<void> {
  const { limit: _l, offset: _o, include: _i, newest: _n, ...wanted } = filters;
  const parts: string[] = [];
  let lines = '';
  let jobs = 0;
  for await (const job of api.peek().exportJobs(wanted)) {
    if (signal.aborted) return;
    lines += `${JSON.stringify(job)}\n`;
    jobs += 1;
    if (jobs % linesPerPart !== 0) continue;
    parts.push(lines);
    lines = '';
  }
  const name = `jobs-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.ndjson`;
  saveFile([...parts, lines], 'application/x-ndjson', name);
  notify(`${plural(jobs, 'job')} saved, one a line`);
}
