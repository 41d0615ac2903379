import type { Config } from '../../../config/config.ts';
import { CoordinatorError, type FieldError } from '../../../domain/errors.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { type Item, jsonItems, lines } from '../../../lib/jsonItems.ts';
import { hasPrototypeKey, shapeFault } from '../../../lib/jsonShape.ts';
import type { Turns } from '../../../lib/turns.ts';
import type { BatchBody } from '../../middleware/batchBody.ts';
import { faultsMax } from '../../validate.ts';
import { batchMax } from './limits.ts';

/** Values in all jobs of a batch: parsed, each takes 10 to 60 bytes until the batch is durable. */
const valuesMax = 1_000_000;
/** Faults that the sentence names; the list has the others. */
const faultsNamed = 3;
const mark = Buffer.from('\ufeff');
/** After this much work others get a turn, ms. */
const sliceMs = 5;
/** A longer job is parsed in a turn of its own: it alone may take 30 ms. */
const longBytes = 256 * 1024;

/**
 * The jobs of a batch, in order.
 * @param take makes what is returned of the members of each job. @throws CoordinatorError invalid_request, as a single
 * dispatch does.
 * @throws CoordinatorError invalid_request with every fault, at most 100.
 */
export async function parseBatch<T>(
  body: BatchBody,
  config: Config,
  turns: Turns,
  take: (job: Fields) => T,
): Promise<T[]> {
  const bytes = withoutMark(body.bytes);
  const taken: T[] = [];
  const faults: FieldError[] = [];
  const items = body.form === 'json' ? jsonItems(bytes, 'jobs') : lines(bytes);
  let sliceBegan = performance.now();
  const giveWay = async (): Promise<void> => {
    await turns.next();
    sliceBegan = performance.now();
  };
  let count = 0;
  let values = 0;
  let step = items.next();
  for (
    ;
    !step.done && count < batchMax && values <= valuesMax && faults.length < faultsMax;
    step = items.next()
  ) {
    const item = step.value;
    if (item !== null) {
      const isLong = item.end - item.start > longBytes;
      if (isLong) await giveWay();
      count += 1;
      values += item.values;
      try {
        taken.push(take(parseItem(bytes, item, config.http.maxBodyBytes)));
      } catch (error) {
        faults.push(...faultsOf(error, `jobs[${item.index}]`));
      }
      if (isLong) await giveWay();
    }
    if (performance.now() - sliceBegan > sliceMs) await giveWay();
  }
  if (values > valuesMax)
    faults.push({
      field: 'jobs',
      message: `must have at most ${valuesMax} values in all; send smaller batches`,
    });
  else if (!step.done && count >= batchMax)
    faults.push({ field: 'jobs', message: `must have at most ${batchMax} items` });
  else if (step.done) faults.push(...faultsAround(step.value, count));
  if (faults.length > 0) throw refusal(faults);
  return taken;
}

/** Editors and shells of Windows begin a file with U+FEFF; a reader may pass over it (RFC 8259, 8.1). */
function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, mark.length).equals(mark) ? bytes.subarray(mark.length) : bytes;
}

/** @throws CoordinatorError invalid_request. */
function parseItem(bytes: Buffer, item: Item, maxBytes: number): Fields {
  const { start, end } = item;
  if (end - start > maxBytes) {
    throw fault(`is larger than the ${maxBytes} bytes that http.max_body_bytes allows`);
  }
  const wrongShape = shapeFault(item);
  if (wrongShape !== null) throw fault(wrongShape);
  const text = bytes.toString('utf8', start, end);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fault('is not JSON');
  }
  if (!isFields(value)) throw fault('must be an object');
  if (hasPrototypeKey(value)) throw fault('must not have a member called __proto__');
  return value;
}

/** What is wrong outside of the jobs. @param rest JSON of the body without them; null: too much; undefined: NDJSON. */
function faultsAround(rest: string | null | undefined, count: number): FieldError[] {
  const none: FieldError[] = count > 0 ? [] : [{ field: 'jobs', message: 'must have at least 1 item' }];
  if (rest === undefined) return none;
  if (rest === null) {
    return [
      { field: '', message: 'The body must be a JSON object with a list of jobs, and hardly anything else' },
    ];
  }
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
