import { randomUUID } from 'node:crypto';
import { ApiError, type Client, Unreachable } from '../client/client.ts';
import { Outage } from '../client/outage.ts';
import { pause } from '../client/pause.ts';
import { messageOf } from '../domain/errors.ts';
import type { DispatchBody, WireBatch, WireJob } from '../domain/wire/job.ts';
import { interruptSignal } from '../lib/interrupt.ts';
import { plainLine, safeJson } from '../lib/plainText.ts';
import { CommandFailure, exitCodes, jobContinues } from './exit.ts';
import type { Io } from './io.ts';
import { readTextFile } from './textFile.ts';

/** The API's limits for one batch: this many jobs, and by default 64 MiB; a character may be four bytes. */
const batchJobsMax = 10_000;
const batchCharactersMax = 8 * 1024 ** 2;
/** Faults shown; a file with more has one mistake many times. */
const faultsShown = 10;
/** Jobs awaited at once. */
const awaitedAtOnce = 8;

/** A job and its line in the file, from 1. */
interface FileJob {
  line: number;
  body: DispatchBody;
}

export interface BulkOptions {
  /** A path, or `-` for standard input. */
  file: string;
  /** For lines without one; a line of plain text is then its input. */
  prompt: string | undefined;
  /** For lines that do not set them. */
  defaults: DispatchBody;
  /** Seconds for all of them; undefined: no limit. */
  waitSeconds: number | undefined;
  detach: boolean;
  /** Whole jobs instead of their answers. */
  json: boolean;
}

/**
 * A job for each line of a file, and a line of JSON for each job in the same order.
 * @throws CommandFailure usage, before anything is sent, when a line is not a job; failed, when not all of them
 * complete; WaitTimedOut; as the client does.
 */
export async function runFile(client: Client, options: BulkOptions, io: Io): Promise<void> {
  const items = readItems(await readTextFile('--file', options.file, io), options);
  const signal = interruptSignal();
  const ids = await dispatchItems(client, items, options.file, signal, io);
  if (options.detach) return io.out.lines(ids);
  const failed = await follow(client, items, ids, options, signal, io);
  const sum = `${ids.length - failed} of ${ids.length} jobs completed`;
  if (failed > 0) throw new CommandFailure(exitCodes.failed, sum);
  if (io.err.isTerminal) io.err.line(io.err.paint('dim', sum));
}

/** Every non-empty line as a job. @throws CommandFailure that names the invalid lines. */
function readItems(text: string, { file, prompt, defaults }: BulkOptions): FileJob[] {
  const items: FileJob[] = [];
  const faults: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const body = bodyOf(line.trim(), prompt);
    if (typeof body === 'string') faults.push(`${file}:${index + 1}: ${body}`);
    else items.push({ line: index + 1, body: { ...defaults, ...body } });
  }
  if (faults.length > 0) throw new CommandFailure(exitCodes.usage, shorten(faults));
  if (items.length === 0) throw new CommandFailure(exitCodes.usage, `--file: ${file} contains no jobs`);
  return items;
}

/** @returns the job, or in a few words what is wrong with the line. */
function bodyOf(line: string, prompt: string | undefined): DispatchBody | string {
  let value: unknown = line;
  if (/^[{"]/.test(line)) {
    try {
      value = JSON.parse(line);
    } catch {
      return 'begins like JSON but is not valid JSON';
    }
  }
  if (typeof value === 'string') return prompt === undefined ? { prompt: value } : { prompt, input: value };
  // It begins with a brace; the coordinator validates the fields and names every invalid one.
  const body = value as DispatchBody;
  const isWhole = body.prompt !== undefined || body.messages !== undefined || prompt === undefined;
  return isWhole ? body : { ...body, prompt };
}

async function dispatchItems(
  client: Client,
  items: readonly FileJob[],
  file: string,
  signal: AbortSignal,
  io: Io,
): Promise<string[]> {
  // Report a missing coordinator at once; wait for one that leaves later.
  await client.health().catch((error: unknown) => {
    if (error instanceof Unreachable) throw error;
  });
  const ids: string[] = [];
  for (const batch of batchesOf(items)) {
    try {
      signal.throwIfAborted();
      const bodies = batch.map(({ body }) => body);
      const { jobs } = await dispatchWithRetries(client, bodies, signal, io);
      ids.push(...jobs.map(({ id }) => id));
    } catch (error) {
      if (ids.length > 0) {
        io.err.line(`The first ${ids.length} jobs were accepted, up to line ${items[ids.length - 1]?.line}:`);
        io.err.lines(ids);
      }
      throw withLines(error, batch, file);
    }
  }
  return ids;
}

/**
 * Send a batch until it is answered: the idempotency key prevents duplicates. Waits for a coordinator that is away for
 * two minutes, and for a full queue.
 */
async function dispatchWithRetries(
  client: Client,
  bodies: readonly DispatchBody[],
  signal: AbortSignal,
  io: Io,
): Promise<WireBatch> {
  const idempotencyKey = randomUUID();
  const outage = new Outage(true);
  let said = '';
  for (;;) {
    try {
      return await client.dispatchBatch(bodies, { idempotencyKey });
    } catch (error) {
      const ms = outage.pauseAfter(error);
      const why = plainLine(messageOf(error));
      if (why !== said) io.err.line(`${why}; retrying`);
      said = why;
      await pause(ms, signal);
    }
  }
}

function* batchesOf(items: readonly FileJob[]): Generator<FileJob[]> {
  let batch: FileJob[] = [];
  let characters = 0;
  for (const item of items) {
    const own = JSON.stringify(item.body).length;
    if (batch.length > 0 && (batch.length === batchJobsMax || characters + own > batchCharactersMax)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(item);
    characters += own;
  }
  yield batch;
}

/** An error names jobs by their index in the batch; people need the line. */
function withLines(error: unknown, batch: readonly FileJob[], file: string): unknown {
  if (!(error instanceof ApiError) || error.code !== 'invalid_request') return error;
  const faults = error.errors.map(({ field, message }) => {
    const [, place, rest = ''] = /^jobs\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
    const line = batch[Number(place)]?.line;
    return line === undefined
      ? `${field} ${message}`.trim()
      : `${file}:${line}: ${`${rest} ${message}`.trim()}`;
  });
  return faults.length === 0 ? error : new CommandFailure(exitCodes.usage, shorten(faults));
}

function shorten(faults: readonly string[]): string {
  const more = faults.length - faultsShown;
  return [...faults.slice(0, faultsShown), ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

/** @returns how many did not complete. */
async function follow(
  client: Client,
  items: readonly FileJob[],
  ids: readonly string[],
  { waitSeconds, json }: BulkOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const deadline = performance.now() + (waitSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  const ask = (id: string): Promise<WireJob> => {
    const timeoutSeconds = waitSeconds && Math.max(0, (deadline - performance.now()) / 1000);
    const job = client.waitFor(id, { timeoutSeconds, signal, isKnown: true });
    // The failure is reported when this job's turn comes.
    job.catch(() => {});
    return job;
  };
  const asked = ids.slice(0, awaitedAtOnce).map(ask);
  let failed = 0;
  for (const [index, id] of ids.entries()) {
    try {
      const job = await (asked[index] as Promise<WireJob>);
      const next = ids[index + awaitedAtOnce];
      if (next !== undefined) asked.push(ask(next));
      io.out.line(safeJson(json ? job : answerOf(job, items[index]?.line ?? 0), 0));
      if (job.status !== 'completed') failed += 1;
    } catch (error) {
      if (jobContinues(error)) {
        const others = ids.length - index;
        io.err.line(
          `${others} jobs keep running, from line ${items[index]?.line}; the first is ${plainLine(id)}.`,
        );
      }
      throw error;
    }
  }
  return failed;
}

/** The usual answer: the line of the job and its result. */
function answerOf({ id, status, result, error }: WireJob, line: number): object {
  return { line, id, status, output: result?.output ?? null, error: error?.message ?? null };
}
