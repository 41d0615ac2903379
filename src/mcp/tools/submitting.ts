import type { Config } from '../../config/config.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import { ownIdempotencyKey } from '../../domain/idempotency.ts';
import type { JobRequest } from '../../domain/job.ts';
import { dispatchSchema, parseDispatch } from '../../http/routes/jobs/schema.ts';
import { messageShape } from '../../http/routes/jobs/shape.ts';
import { schemaOf } from '../../http/shape/fromYup.ts';
import type { JsonSchema } from '../../http/shape/shape.ts';
import { type Fields, fieldsOf } from '../../lib/fields.ts';
import { standalone } from '../schema.ts';
import type { ToolCall } from './tool.ts';

const described = schemaOf(dispatchSchema([]));
const describedProperties = fieldsOf(described.properties);

/** A job, as POST /api/jobs takes it. The copy that yup makes of the messages lacks what they refer to. */
export const jobSchema = standalone({
  ...described,
  properties: {
    ...describedProperties,
    messages: { ...fieldsOf(describedProperties.messages), items: messageShape.schema },
  },
});

const keyPattern = /^[\x21-\x7e]{1,255}$/;

/** The member of both tools that makes a call safe to repeat. */
export const idempotencyKeySchema: JsonSchema = {
  type: 'string',
  pattern: keyPattern.source,
  description:
    'A name for this call that you choose, 1 to 255 visible ASCII characters. Call again with the same name and the same arguments after a broken connection: for 24 hours you get what the first call created, and nothing is submitted twice.',
};

/** The properties of a job, with one more. */
export const jobProperties: JsonSchema = fieldsOf(jobSchema.properties);

/** The key as it is stored, and the other arguments. @throws CoordinatorError invalid_request. */
export function withoutKey(args: Fields, { caller }: ToolCall): { key: string | null; rest: Fields } {
  const { idempotency_key: key = null, ...rest } = args;
  if (key === null) return { key, rest };
  if (typeof key !== 'string' || !keyPattern.test(key))
    throw fault('idempotency_key', 'must be 1 to 255 visible ASCII characters');
  return { key: ownIdempotencyKey(caller.principal.keyId, key), rest };
}

/** @throws CoordinatorError invalid_request. */
export function parseJob(args: unknown, config: Config): JobRequest {
  return parseDispatch(args, config);
}

/** An argument that must be something else. */
export function fault(field: string, message: string): CoordinatorError {
  return new CoordinatorError('invalid_request', `The request is not valid: ${field} ${message}`, {
    errors: [{ field, message }],
  });
}

/** Refuses more work of a key whose answers lie unread. @throws CoordinatorError share_exceeded. */
export function refuseUnread({ parts, caller }: ToolCall): void {
  const refusal = parts.answers.refusalOfShare(caller.principal);
  if (refusal !== null) throw refusal;
}
