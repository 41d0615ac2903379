import { number as yupNumber, object as yupObject } from 'yup';
import { CoordinatorError } from '../../domain/errors.ts';
import { nameLengthMax } from '../../domain/limits.ts';
import type { WireBulk } from '../../domain/wire/job.ts';
import { type Choice, changeMany, matching, parseBulk } from '../../http/routes/jobs/bulk.ts';
import { bulkMax } from '../../http/routes/jobs/limits.ts';
import { bulkResultShape } from '../../http/routes/jobs/shape.ts';
import { validate } from '../../http/validate.ts';
import { type Fields, isFields } from '../../lib/fields.ts';
import { own } from '../frame.ts';
import { filterProperties, parseFilter } from './filter.ts';
import { fault } from './submitting.ts';
import { defineTool, type ToolCall } from './tool.ts';

export const cancelJobs = defineTool<WireBulk>({
  name: 'cancel_jobs',
  title: 'Cancel jobs',
  role: 'client',
  description:
    'Cancel pending and running jobs: those named by ids, or all that match a filter. With a filter, give the number of jobs that you expect it to cancel; if it matches another number, nothing is cancelled. A job that has ended stays as it is and is listed in `refused`. retry_job cannot bring a cancelled job back.',
  input: {
    type: 'object',
    additionalProperties: false,
    properties: {
      ids: {
        type: 'array',
        minItems: 1,
        maxItems: bulkMax,
        items: { type: 'string', minLength: 1, maxLength: nameLengthMax },
        description: 'Ids of jobs. Not together with filter.',
      },
      filter: {
        type: 'object',
        additionalProperties: false,
        properties: filterProperties,
        description: 'The filters of list_jobs. Not together with ids.',
      },
      expected_count: {
        type: 'integer',
        minimum: 1,
        maximum: bulkMax,
        description: 'With filter: how many pending and running jobs it matches.',
      },
    },
  },
  output: bulkResultShape,
  effect: { isDestructive: true, isIdempotent: true, isOpenWorld: false },

  call: async (args, call) => {
    const choice = await chosen(args, call);
    const structured = await changeMany(call.parts.coordinator, 'cancel', choice, call.caller.doer());
    const refused = structured.refused.map(({ id, code }) => `${id}: ${code}`);
    const summary = `${structured.changed} jobs cancelled, ${structured.refused_count} refused.`;
    return { structured, text: [own([summary, ...refused].join('\n'))] };
  },
});

const countSchema = yupObject({
  expected_count: yupNumber().integer().min(1).max(bulkMax).required('is needed together with filter'),
}).noUnknown();

/** The ids of the jobs that are meant. @throws CoordinatorError invalid_request. */
async function chosen(args: Fields, { parts, gone }: ToolCall): Promise<Choice> {
  const { expected_count: count, ...choice } = args;
  if (!isFields(choice.filter)) {
    if (count !== undefined) throw fault('expected_count', 'goes with filter, not with ids');
    return parseBulk(choice);
  }
  if ('ids' in choice) throw fault('ids', 'and filter exclude each other');
  const { expected_count: expected } = validate(countSchema, { expected_count: count });
  const filter = parseFilter(choice.filter);
  const { ids, hasMore } = await matching(parts.coordinator, 'cancel', { filter });
  gone.throwIfAborted();
  if (!hasMore && ids.length === expected) return { ids };
  const found = hasMore ? `more than ${bulkMax}` : String(ids.length);
  throw new CoordinatorError(
    'invalid_request',
    `The filter matches ${found} pending and running jobs, and you expected ${expected}: nothing was cancelled. Look at them with list_jobs, then call again with the right expected_count or a narrower filter`,
    { errors: [{ field: 'expected_count', message: `must be ${found}` }] },
  );
}
