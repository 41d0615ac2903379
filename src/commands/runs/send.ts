import { Faults, FileFault } from '../../bulk/fault.ts';
import { type FileJob, faultText, type JobFile, withoutRepeats } from '../../bulk/jobFile.ts';
import { ApiError, type Client } from '../../client/client.ts';
import type { DispatchBody } from '../../domain/wire/job.ts';
import type { RunLineBody } from '../../domain/wire/run.ts';
import type { Patience } from './patience.ts';

/** Fewer than the API takes: jobs of a large file start while the others are sent. */
const batchJobsMax = 2_000;
/** By default the API takes 64 MiB, and a character may be four bytes. */
const batchCharactersMax = 8 * 1024 ** 2;

/** What has been sent of a file so far. */
export interface Sent {
  /** Lines that the run has now. */
  lines: number;
  /** Those that were new. */
  created: number;
}

export interface SendOptions {
  run: string;
  /** Fields for lines that do not set them, beside those of the run. */
  fields: DispatchBody;
  /** Send no more lines than this. */
  most?: number | undefined;
}

/**
 * Send the jobs of a file in batches. Lines that the run has are known to it and not made again.
 * @throws FileFault that names lines, when they are not jobs, or not for the coordinator; as the client does.
 */
export async function sendJobs(
  client: Client,
  file: JobFile,
  { run, fields, most = Number.POSITIVE_INFINITY }: SendOptions,
  patience: Patience,
  sent: Sent,
): Promise<void> {
  const send = async (batch: readonly FileJob[]): Promise<void> => {
    const bodies = batch.map(({ id, body }): RunLineBody => ({ ...fields, ...body, line_id: id }));
    try {
      const { created } = await patience.ask((signal) => client.addRunJobs(run, bodies, { signal }));
      sent.created += created;
      sent.lines += batch.length;
    } catch (error) {
      // The coordinator may take smaller batches than most do.
      if (!(error instanceof ApiError) || error.status !== 413 || batch.length === 1)
        throw withLines(error, batch, file);
      const half = Math.ceil(batch.length / 2);
      await send(batch.slice(0, half));
      await send(batch.slice(half));
    }
  };
  for await (const batch of batchesOf(file, most)) await send(batch);
}

/** @throws FileFault at the first line that is no job, once those before it were yielded. */
async function* batchesOf(file: JobFile, most: number): AsyncGenerator<FileJob[]> {
  let batch: FileJob[] = [];
  let characters = 0;
  let left = most;
  for await (const item of withoutRepeats(file.items())) {
    if ('fault' in item) {
      if (batch.length > 0) yield batch;
      throw new FileFault(faultText(file.source, item));
    }
    const own = JSON.stringify(item.body).length;
    if (batch.length > 0 && (batch.length === batchJobsMax || characters + own > batchCharactersMax)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(item);
    characters += own;
    left -= 1;
    if (left <= 0) break;
  }
  if (batch.length > 0) yield batch;
}

/** An error names jobs by their index in the batch; people need the line. */
function withLines(error: unknown, batch: readonly FileJob[], { source }: JobFile): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.status === 413 && batch.length === 1)
    return new FileFault(faultText(source, { line: batch[0]?.line ?? 0, fault: error.detail }));
  if (error.code !== 'invalid_request' || error.errors.length === 0) return error;
  const faults = new Faults();
  for (const { field, message } of error.errors) {
    const [, place, rest = ''] = /^jobs\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
    const line = place === undefined ? undefined : batch[Number(place)]?.line;
    const text = `${line === undefined ? field : rest} ${message}`.trim();
    faults.add(line === undefined ? text : faultText(source, { line, fault: text }));
  }
  try {
    faults.throwIfAny();
    return error;
  } catch (fault) {
    return fault;
  }
}
