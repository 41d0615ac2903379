import { type ErrorCode, errorCodes } from '../../domain/errors.ts';
import type { Problem } from '../../domain/wire/problem.ts';
import { jobStatusShape } from '../shape/common.ts';
import { integer, list, literal, named, object, oneOf, optional, type Shape, text } from '../shape/shape.ts';

const errorCodeShape: Shape<ErrorCode> = named(
  'ErrorCode',
  oneOf(errorCodes, 'Stable; programs should use this.'),
);

export const problemShape = named(
  'Problem',
  object<Problem>(
    {
      type: literal('about:blank'),
      title: text('The name of the status.'),
      status: integer({ minimum: 400, maximum: 599 }),
      detail: text('One sentence for people: what is wrong and what to do.'),
      code: errorCodeShape,
      errors: optional(
        list(
          object({
            field: text('Path of the value at fault, as in `tags[0]`; empty for the whole.'),
            message: text(),
          }),
          'Every fault of the request.',
        ),
      ),
      job_status: optional(jobStatusShape),
      request_id: text('The same as `X-Request-Id`.'),
    },
    'A problem document, RFC 9457.',
  ),
);
