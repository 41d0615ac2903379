import { reference } from '../shape/shape.ts';

/** Every response has it. */
export const requestIdHeader = {
  'X-Request-Id': reference('headers', 'RequestId', {
    description:
      'Names the request in the log. A request may bring its own in the same header: up to 64 letters, digits, `.`, `_` and `-`.',
    required: true,
    schema: { type: 'string', pattern: '^[\\w.-]{1,64}$' },
  }),
};

/** Of answers that a client may keep. */
export const etagHeader = {
  ETag: reference('headers', 'ETag', {
    description: 'Send it back in `If-None-Match` to get 304 while nothing has changed.',
    required: true,
    schema: { type: 'string', pattern: '^(W/)?"[\\w-]+"$' },
  }),
};

/** The path of what was created. */
export function locationHeader(of: string, path: string) {
  return {
    Location: {
      description: `Path of the ${of}.`,
      required: true,
      schema: { type: 'string', pattern: `^${path}` },
    },
  };
}

/** The header of requests for answers with an `ETag`. */
export const ifNoneMatchHeader = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of the answer that the client has.',
  schema: { type: 'string' },
};

/** What a route answers to a client whose copy is still the same. */
export const notModified = {
  description: "The client's copy is still current. No body.",
  headers: etagHeader,
};
