import { isUtf8 } from 'node:buffer';
import type { Config } from '../../../config/config.ts';
import { CoordinatorError, type FieldError } from '../../../domain/errors.ts';
import type { JobRequest } from '../../../domain/job.ts';
import { isDeeperThan } from '../../../lib/jsonDepth.ts';
import { jsonItems, lines, type Span } from '../../../lib/jsonItems.ts';
import { nextTurn } from '../../../lib/nextTurn.ts';
import type { BatchBody } from '../../middleware/batchBody.ts';
import { parseDispatch } from './schema.ts';

const jobsMax = 10_000;
/** Levels of nesting in one job, as in a single dispatch. */
const depthMax = 200;
/** Faults that are told; a client with more of them has one mistake many times. */
const faultsMax = 100;
/** Faults that the sentence names; the list has the others. */
const faultsNamed = 3;
const mark = Buffer.from('\ufeff');
/** After this much work others get a turn, ms. */
const sliceMs = 5;

/**
 * The jobs of POST /api/jobs/batch, in order.
 * @param plan makes what is returned of each job that is well formed. @throws CoordinatorError invalid_request, as a single
 * dispatch does.
 * @throws CoordinatorError invalid_request with every fault, at most 100.
 */
export async function parseBatch<T>(
  body: BatchBody,
  config: Config,
  plan: (request: JobRequest) => T,
): Promise<T[]> {
  const bytes = withoutMark(body.bytes);
  // A file in another encoding would lose its letters one by one, and nobody would see it before the answers.
  if (!isUtf8(bytes)) throw refusal([{ field: '', message: 'The body is not UTF-8' }]);
  const planned: T[] = [];
  const faults: FieldError[] = [];
  const items = body.form === 'json' ? jsonItems(bytes, 'jobs') : lines(bytes);
  let sliceBegan = performance.now();
  let count = 0;
  let step = items.next();
  for (; !step.done && count < jobsMax && faults.length < faultsMax; step = items.next()) {
    const span: Span & { index?: number } = step.value;
    const field = `jobs[${span.index ?? count}]`;
    count += 1;
    try {
      planned.push(plan(parseDispatch(parseItem(bytes, span, config.http.maxBodyBytes), config)));
    } catch (error) {
      faults.push(...faultsOf(error, field));
    }
    if (performance.now() - sliceBegan > sliceMs) {
      await nextTurn();
      sliceBegan = performance.now();
    }
  }
  if (!step.done && count >= jobsMax)
    faults.push({ field: 'jobs', message: `must have at most ${jobsMax} items` });
  else if (step.done) faults.push(...faultsAround(step.value, count));
  if (faults.length > 0) throw refusal(faults);
  return planned;
}

/** Editors and shells of Windows begin a file with U+FEFF; a reader may pass over it (RFC 8259, 8.1). */
function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, mark.length).equals(mark) ? bytes.subarray(mark.length) : bytes;
}

/** @throws CoordinatorError invalid_request. */
function parseItem(bytes: Buffer, { start, end }: Span, maxBytes: number): unknown {
  if (end - start > maxBytes) {
    throw fault(`is larger than the ${maxBytes} bytes that http.max_body_bytes allows`);
  }
  const text = bytes.toString('utf8', start, end);
  if (isDeeperThan(text, depthMax)) throw fault(`nests deeper than ${depthMax} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fault('is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault('must be an object');
  // Spelt out, or with escapes; only then is it worth a walk through the value.
  if ((text.includes('__proto__') || text.includes('\\u')) && hasPrototypeKey(value)) {
    throw fault('must not have a member called __proto__');
  }
  return value;
}

/** Such a member would change the prototype of whatever it is copied to. A single dispatch is refused for it too. */
function hasPrototypeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototypeKey);
}

/** What is wrong outside of the jobs. @param rest JSON of the body without them; undefined for NDJSON. */
function faultsAround(rest: string | undefined, count: number): FieldError[] {
  const none: FieldError[] = count > 0 ? [] : [{ field: 'jobs', message: 'must have at least 1 items' }];
  if (rest === undefined) return none;
  let around: unknown;
  try {
    around = JSON.parse(rest);
  } catch {
    return [{ field: '', message: 'The body is not a JSON object' }];
  }
  if (typeof around !== 'object' || around === null || Array.isArray(around)) {
    return [{ field: '', message: 'The body must be a JSON object' }];
  }
  const { jobs, ...others } = around as Record<string, unknown>;
  const unknown = Object.keys(others).map((field) => ({ field, message: 'is not known' }));
  if (jobs === undefined) return [...unknown, { field: 'jobs', message: 'is required' }];
  if (!Array.isArray(jobs)) return [...unknown, { field: 'jobs', message: 'must be an array' }];
  if (jobs.length > 0) return [...unknown, { field: 'jobs', message: 'may be given once' }];
  return [...unknown, ...none];
}

function fault(message: string): CoordinatorError {
  return new CoordinatorError('invalid_request', message, { errors: [{ field: '', message }] });
}

function faultsOf(error: unknown, parent: string): FieldError[] {
  if (!(error instanceof CoordinatorError) || error.code !== 'invalid_request') throw error;
  return (error.details.errors ?? []).map(({ field, message }) => ({
    field: field === '' ? parent : `${parent}.${field}`,
    message,
  }));
}

function refusal(faults: readonly FieldError[]): CoordinatorError {
  const errors = faults.slice(0, faultsMax);
  const named = errors.slice(0, faultsNamed).map(({ field, message }) => `${field} ${message}`.trim());
  const others = errors.length > faultsNamed ? `; and ${errors.length - faultsNamed} or more others` : '';
  return new CoordinatorError(
    'invalid_request',
    `The batch is not valid, and none of its jobs was taken: ${named.join('; ')}${others}`,
    { errors },
  );
}
