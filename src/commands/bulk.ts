import { randomUUID } from 'node:crypto';
import { ApiError, type Client, Unreachable } from '../client/client.ts';
import { Outage } from '../client/outage.ts';
import { pause } from '../client/pause.ts';
import { messageOf } from '../domain/errors.ts';
import type { DispatchBody, WireBatch, WireJob } from '../domain/wire/job.ts';
import { interruptSignal } from '../lib/interrupt.ts';
import { plainLine, safeJson } from '../lib/plainText.ts';
import { CommandFailure, exitCodes, goesOn } from './exit.ts';
import type { Io } from './io.ts';
import { readTextFile } from './textFile.ts';

/** The API takes so many jobs in one batch, and by default 64 MiB; a character may be four bytes. */
const batchJobsMax = 10_000;
const batchCharactersMax = 8 * 1024 ** 2;
/** Faults that are shown; a file with more of them has one mistake many times. */
const faultsShown = 10;
/** Jobs that are asked for at once while they are waited for. */
const askedAtOnce = 8;

/** A job and the line of the file that it was made of, from 1. */
interface Item {
  line: number;
  body: DispatchBody;
}

export interface BulkOptions {
  /** A path, or `-` for standard input. */
  file: string;
  /** For lines that bring none; a line of plain text is its input then. */
  prompt: string | undefined;
  /** For lines that say nothing else. */
  defaults: DispatchBody;
  /** Seconds for all of them; undefined: as long as it takes. */
  waitSeconds: number | undefined;
  detach: boolean;
  /** Whole jobs instead of what they answered. */
  json: boolean;
}

/**
 * A job for each line of a file, and a line of JSON for each job in the same order.
 * @throws CommandFailure usage, before anything is sent, when a line is no job; failed, when not all of them complete;
 * WaitTimedOut; as the client does.
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

/** Every line that is not empty as a job. @throws CommandFailure that names the lines at fault. */
function readItems(text: string, { file, prompt, defaults }: BulkOptions): Item[] {
  const items: Item[] = [];
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
  // It began with a brace; what is in it is checked by the coordinator, which names every field at fault.
  const body = value as DispatchBody;
  const isWhole = body.prompt !== undefined || body.messages !== undefined || prompt === undefined;
  return isWhole ? body : { ...body, prompt };
}

async function dispatchItems(
  client: Client,
  items: readonly Item[],
  file: string,
  signal: AbortSignal,
  io: Io,
): Promise<string[]> {
  // One that is not there is told of at once; one that goes away later is waited for.
  await client.health().catch((error: unknown) => {
    if (error instanceof Unreachable) throw error;
  });
  const ids: string[] = [];
  for (const batch of batchesOf(items)) {
    try {
      signal.throwIfAborted();
      const bodies = batch.map(({ body }) => body);
      const { jobs } = await dispatchSurely(client, bodies, signal, io);
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
 * Send a batch until it is answered: under one key it makes no second jobs, however often it arrives. A coordinator that
 * is away for two minutes, and a full queue, are waited for.
 */
async function dispatchSurely(
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

function* batchesOf(items: readonly Item[]): Generator<Item[]> {
  let batch: Item[] = [];
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

/** A refusal names jobs by their place in the batch; people look for the line. */
function withLines(error: unknown, batch: readonly Item[], file: string): unknown {
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
  items: readonly Item[],
  ids: readonly string[],
  { waitSeconds, json }: BulkOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const deadline = performance.now() + (waitSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  const ask = (id: string): Promise<WireJob> => {
    const timeoutSeconds = waitSeconds && Math.max(0, (deadline - performance.now()) / 1000);
    const job = client.waitFor(id, { timeoutSeconds, signal, isKnown: true });
    // Whoever waits for the one before it hears of this failure when its turn comes.
    job.catch(() => {});
    return job;
  };
  const asked = ids.slice(0, askedAtOnce).map(ask);
  let failed = 0;
  for (const [index, id] of ids.entries()) {
    try {
      const job = await (asked[index] as Promise<WireJob>);
      const next = ids[index + askedAtOnce];
      if (next !== undefined) asked.push(ask(next));
      io.out.line(safeJson(json ? job : answerOf(job, items[index]?.line ?? 0), 0));
      if (job.status !== 'completed') failed += 1;
    } catch (error) {
      if (goesOn(error)) {
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

/** What most want of a job: where it came from and what it answered. */
function answerOf({ id, status, result, error }: WireJob, line: number): object {
  return { line, id, status, output: result?.output ?? null, error: error?.message ?? null };
}
