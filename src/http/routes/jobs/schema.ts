import type { IncomingHttpHeaders } from 'node:http';
import { array, type InferType, number, object, string } from 'yup';
import type { Config } from '../../../config/config.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import { ownIdempotencyKey } from '../../../domain/idempotency.ts';
import type { JobRequest } from '../../../domain/job.ts';
import type { Principal } from '../../../domain/key.ts';
import { nameLengthMax } from '../../../domain/limits.ts';
import { webhookUrlMax } from '../../../domain/webhook.ts';
import { boundedList } from '../../../lib/boundedList.ts';
import { fastCheck } from '../../../lib/fastCheck.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { countMembers } from '../../../lib/jsonShape.ts';
import { namedSchema } from '../../shape/fromYup.ts';
import { reference } from '../../shape/shape.ts';
import { time } from '../../time.ts';
import { validate } from '../../validate.ts';
import { metadataMax, paramsMax, tagsMax, timeoutSecondsMax } from './limits.ts';
import { messages } from './messages.ts';

const defaultPriority = 'normal';

const name = () => string().min(1).max(nameLengthMax);

const areUnique = (list: readonly unknown[]): boolean => new Set(list).size === list.length;

const tags = boundedList(
  tagsMax,
  array()
    .of(name().defined())
    .nullable()
    .test('unique', 'must not repeat a tag', (list) => list === undefined || list === null || areUnique(list))
    .meta({ json: { uniqueItems: true }, fast: { unique: areUnique } }),
  { description: 'Labels of your own; routing rules may match them, lists filter by them.' },
);

const areTexts = (value: Fields): boolean => {
  const texts = Object.values(value);
  return texts.length <= metadataMax && texts.every((text) => typeof text === 'string');
};

const metadata = object()
  .nullable()
  .test('strings', function checkMetadata(value: unknown) {
    if (value === undefined || value === null) return true;
    const wrong = Object.entries(value).find(([, text]) => typeof text !== 'string');
    return (
      wrong === undefined ||
      this.createError({ path: `${this.path}.${wrong[0]}`, message: 'must be a string' })
    );
  })
  .meta({
    description: 'Stored with the job for you; SVC does not use it.',
    json: { maxProperties: metadataMax, additionalProperties: { type: 'string' } },
    fast: { strings: areTexts },
  });

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/**
 * A job as a client sends it. null is the same as left out, so that what GET answers can be sent again.
 * @param priorities the labels of the configuration; none for any.
 */
export const dispatchSchema = (priorities: readonly string[]) =>
  object({
    prompt: string().min(1, 'must not be empty').nullable().meta({ description: 'Instruction text.' }),
    messages,
    input: string().nullable().meta({ description: 'Content that the prompt is about.' }),
    provider: name().nullable().meta({
      description:
        'The provider that must run it. If left out or `auto`, the routing decides; 400 if it finds none.',
    }),
    model: name().nullable().meta({
      description:
        "The model within the provider; left out, the provider's configured one or the worker's own.",
    }),
    priority: string()
      .oneOf(priorities)
      .nullable()
      .meta({
        description: `A label of \`jobs.priorities\`, by default \`critical\`, \`high\`, \`normal\`, \`low\`, \`background\`. It gives a head start in the queue; no job waits forever. Left out, it is \`${defaultPriority}\`.`,
      }),
    tier: name().nullable().meta({ description: 'A label that routing rules may match.' }),
    tags,
    params: object().nullable().meta({
      description:
        'Passed on to the provider, `temperature`, `max_tokens` and so on. At most 20,000 members in all its levels.',
    }),
    metadata,
    timeout_seconds: number().min(0).max(timeoutSecondsMax).nullable().meta({
      description:
        'How long an attempt may run before the job fails; 0 means no limit. The default is `jobs.timeout_seconds`.',
    }),
    not_before: time({ description: 'The job does not run before this time.' }).nullable(),
    webhook: string().min(1).max(webhookUrlMax).nullable().meta({
      description:
        'A webhook that is notified when the job ends, by its name or id; a URL if its host is in `webhooks.allowed_hosts` and a webhook has the same host.',
    }),
  })
    .noUnknown()
    .test('one prompt', function checkPrompt(body) {
      if (!isGiven(body.prompt) && !isGiven(body.messages)) {
        return this.createError({ path: 'prompt', message: 'is required (or messages in its place)' });
      }
      return !isGiven(body.prompt) || !isGiven(body.messages)
        ? true
        : this.createError({ path: 'prompt', message: 'and messages exclude each other; send one of them' });
    })
    .meta({
      description:
        'A job as a client sends it, with either `prompt` or `messages`. null is the same as left out, so that you can send back what a GET returned.',
      json: {
        oneOf: [
          { required: ['prompt'], properties: { prompt: { type: 'string' }, messages: { type: 'null' } } },
          { required: ['messages'], properties: { prompt: { type: 'null' }, messages: { type: 'array' } } },
        ],
      },
      fast: { 'one prompt': ({ prompt, messages: chat }: Fields) => isGiven(prompt) !== isGiven(chat) },
    });

type DispatchSchema = ReturnType<typeof dispatchSchema>;
export type Dispatch = InferType<DispatchSchema>;

/** The document's form of it. */
export const dispatchShape = { schema: namedSchema('Dispatch', dispatchSchema([])) };

interface Checks {
  schema: DispatchSchema;
  /** Most jobs are right, and a batch of 10,000 would spend most of its time in yup. */
  isRight: (body: unknown) => boolean;
}

/** What of the configuration a job is checked by. */
export interface DispatchRules {
  jobs: Pick<Config['jobs'], 'priorities'>;
}

/** Those of each configuration: making them costs more than a validation. */
const checks = new WeakMap<DispatchRules, Checks>();

function checksOf(config: DispatchRules): Checks {
  const known = checks.get(config);
  if (known !== undefined) return known;
  const schema = dispatchSchema(Object.keys(config.jobs.priorities));
  const made = { schema, isRight: fastCheck(schema) };
  checks.set(config, made);
  return made;
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

/** A body as the schema describes it. @throws CoordinatorError invalid_request. */
function checkedDispatch(body: unknown, config: DispatchRules): Dispatch {
  if (isFields(body)) refuseLong(body);
  const { schema, isRight } = checksOf(config);
  return isRight(body) ? (body as Dispatch) : (validate(schema, body) as Dispatch);
}

/** The body of POST /api/jobs. @throws CoordinatorError invalid_request. */
export function parseDispatch(body: unknown, config: DispatchRules): JobRequest {
  const job = checkedDispatch(body, config);
  return {
    prompt: job.prompt ?? null,
    input: job.input ?? null,
    messages: job.messages ?? null,
    provider: job.provider ?? null,
    model: job.model ?? null,
    priority: job.priority ?? defaultPriority,
    tier: job.tier ?? null,
    tags: job.tags ?? [],
    params: (job.params as Record<string, unknown> | undefined | null) ?? {},
    metadata: (job.metadata as Record<string, string> | undefined | null) ?? {},
    timeoutSeconds: job.timeout_seconds ?? null,
    notBefore: typeof job.not_before === 'string' ? Date.parse(job.not_before) : null,
    ...(typeof job.webhook === 'string' ? { webhook: job.webhook } : {}),
  };
}

const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** Of a dispatch and of a batch. */
export const idempotencyKeyHeader = reference('parameters', 'IdempotencyKey', {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A name for this request that the sender chooses, 1 to 255 visible ASCII characters. For 24 hours the same key with the same body returns 200 with what was created first, and with another body 409. Each API key has its own; 1,000,000 of them are remembered, and more are 429 `share_exceeded`.',
  schema: { type: 'string', pattern: idempotencyKeyPattern.source },
  example: 'nightly-2026-11-21-0042',
});

/** The `Idempotency-Key` of a dispatch or a batch, as it is kept; null when there is none. @throws CoordinatorError invalid_request. */
export function parseIdempotencyKey(headers: IncomingHttpHeaders, { keyId }: Principal): string | null {
  const key = headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && idempotencyKeyPattern.test(key)) return ownIdempotencyKey(keyId, key);
  const message = 'must be 1 to 255 visible ASCII characters';
  throw new CoordinatorError('invalid_request', `The request is not valid: Idempotency-Key ${message}`, {
    errors: [{ field: 'Idempotency-Key', message }],
  });
}
