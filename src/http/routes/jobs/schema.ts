import type { IncomingHttpHeaders } from 'node:http';
import { array, type InferType, number, object, string } from 'yup';
import type { Config } from '../../../config/config.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import { ownIdempotencyKey } from '../../../domain/idempotency.ts';
import type { JobRequest } from '../../../domain/job.ts';
import type { Principal } from '../../../domain/key.ts';
import { filterTagsMax, nameLengthMax, searchLengthMax } from '../../../domain/limits.ts';
import { jobStates, jobStatuses } from '../../../domain/states.ts';
import { boundedList } from '../../../lib/boundedList.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { countMembers } from '../../../lib/jsonShape.ts';
import type { Included } from '../../../present/job.ts';
import type { JobFilter, JobQuery } from '../../../store/store.ts';
import { Query, type RawQuery } from '../../query.ts';
import { time } from '../../time.ts';
import { validate } from '../../validate.ts';
import { metadataMax, paramsMax, tagsMax, timeoutSecondsMax } from './limits.ts';
import { messages } from './messages.ts';
import { isField, isPlainJob } from './plainJob.ts';

const defaultPriority = 'normal';
/** `?wait=` at most, seconds. */
const waitSecondsMax = 300;
const limitDefault = 50;
const limitMax = 1000;

const name = () => string().min(1).max(nameLengthMax);

const tags = boundedList(
  tagsMax,
  array()
    .of(name().defined())
    .test(
      'unique',
      'must not repeat a tag',
      (list) => list === undefined || new Set(list).size === list.length,
    ),
);

const metadata = object().test('strings', function checkMetadata(value: unknown) {
  if (value === undefined || value === null) return true;
  const wrong = Object.entries(value).find(([, text]) => typeof text !== 'string');
  return (
    wrong === undefined || this.createError({ path: `${this.path}.${wrong[0]}`, message: 'must be a string' })
  );
});

export const dispatchSchema = (priorities: readonly string[]) =>
  object({
    prompt: string().min(1, 'must not be empty'),
    messages,
    input: string(),
    provider: name(),
    model: name(),
    priority: string().oneOf(priorities),
    tier: name(),
    tags,
    params: object(),
    metadata,
    timeout_seconds: number().min(0).max(timeoutSecondsMax),
    not_before: time(),
  })
    .noUnknown()
    .test('one prompt', function checkPrompt(body) {
      if (body.prompt === undefined && body.messages === undefined) {
        return this.createError({ path: 'prompt', message: 'is required (or messages in its place)' });
      }
      return body.prompt === undefined || body.messages === undefined
        ? true
        : this.createError({ path: 'prompt', message: 'and messages exclude each other; send one of them' });
    });

type DispatchSchema = ReturnType<typeof dispatchSchema>;

/** One schema a configuration: building it costs more than a validation. */
const schemas = new WeakMap<Config, DispatchSchema>();

function schemaOf(config: Config): DispatchSchema {
  const known = schemas.get(config);
  if (known !== undefined) return known;
  const schema = dispatchSchema(Object.keys(config.jobs.priorities));
  schemas.set(config, schema);
  return schema;
}

/** What is not given may be null, so that what GET answers can be sent again. Only what is known: other names are refused. */
function withoutNulls(body: unknown): unknown {
  if (!isFields(body)) return body;
  const isNull = (key: string): boolean => body[key] === null && isField(key);
  const keys = Object.keys(body);
  // As in most.
  if (!keys.some(isNull)) return body;
  return Object.fromEntries(keys.filter((key) => !isNull(key)).map((key) => [key, body[key]]));
}

/** Before anything else looks at them. @throws CoordinatorError invalid_request. */
function refuseLong({ params, metadata }: Fields): void {
  const refuse = (field: string, message: string): never => {
    throw new CoordinatorError('invalid_request', `The request is not valid: ${field} ${message}`, {
      errors: [{ field, message }],
    });
  };
  if (countMembers(params, paramsMax) > paramsMax)
    refuse('params', `must have at most ${paramsMax} members in all its levels`);
  if (isFields(metadata) && Object.keys(metadata).length > metadataMax)
    refuse('metadata', `must have at most ${metadataMax} entries`);
}

/** The body of POST /api/jobs. @throws CoordinatorError invalid_request. */
export function parseDispatch(body: unknown, config: Config): JobRequest {
  const given = withoutNulls(body);
  if (isFields(given)) refuseLong(given);
  const job = isPlainJob(given, config)
    ? given
    : (validate(schemaOf(config), given) as InferType<DispatchSchema>);
  return {
    prompt: job.prompt ?? null,
    input: job.input ?? null,
    messages: job.messages ?? null,
    provider: job.provider ?? null,
    model: job.model ?? null,
    priority: job.priority ?? defaultPriority,
    tier: job.tier ?? null,
    tags: job.tags ?? [],
    params: (job.params as Record<string, unknown> | undefined) ?? {},
    metadata: (job.metadata as Record<string, string> | undefined) ?? {},
    timeoutSeconds: job.timeout_seconds ?? null,
    notBefore: job.not_before === undefined ? null : Date.parse(job.not_before),
  };
}

/** The `Idempotency-Key` of a dispatch or a batch, as it is kept; null when there is none. @throws CoordinatorError invalid_request. */
export function parseIdempotencyKey(headers: IncomingHttpHeaders, { keyId }: Principal): string | null {
  const key = headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return ownIdempotencyKey(keyId, key);
  const message = 'must be 1 to 255 visible ASCII characters';
  throw new CoordinatorError('invalid_request', `The request is not valid: Idempotency-Key ${message}`, {
    errors: [{ field: 'Idempotency-Key', message }],
  });
}

/** The filters of a query but for `newest`, which has no sense for all jobs; their faults are told by its `done`. */
export function readFilter(query: Query): JobFilter {
  return {
    statuses: query.words('status', jobStatuses),
    states: query.words('state', jobStates),
    provider: query.text('provider'),
    model: query.text('model'),
    worker: query.id('worker'),
    createdBy: query.text('created_by'),
    tags: query.all('tag', { max: filterTagsMax }),
    priority: query.text('priority'),
    tier: query.text('tier'),
    metadata: query.pairs('metadata', filterTagsMax),
    createdAfter: query.time('created_after'),
    createdBefore: query.time('created_before'),
    text: query.text('q', searchLengthMax),
    newest: null,
  };
}

/** The query of GET /api/jobs. @throws CoordinatorError invalid_request. */
export function parseList(raw: RawQuery): { query: JobQuery; include: Included } {
  const query = new Query(raw);
  const parsed: JobQuery = {
    ...readFilter(query),
    newest: query.id('newest'),
    limit: query.integer('limit', limitDefault, 1, limitMax),
    offset: query.integer('offset', 0, 0, Number.MAX_SAFE_INTEGER),
  };
  const include = new Set(query.words('include', ['request', 'input', 'result'] as const));
  query.done();
  return { query: parsed, include };
}

/** The query of GET /api/jobs/:id: how long to wait for the job's end, ms. @throws CoordinatorError invalid_request. */
export function parseWait(raw: RawQuery): number {
  const query = new Query(raw);
  const seconds = query.integer('wait', 0, 0, waitSecondsMax);
  query.done();
  return seconds * 1000;
}
