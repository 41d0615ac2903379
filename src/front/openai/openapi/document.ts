import { type DescribedOperation, documentOf } from '../../../http/openapi/document.ts';
import { requestIdHeader } from '../../../http/openapi/headers.ts';
import type { DoorOperation, ServedRoute } from '../../../http/route.ts';
import { type JsonSchema, reference } from '../../../http/shape/shape.ts';
import { bodyErrors, commonErrors, errorResponse } from './errors.ts';

const about = `OpenAI's API over the jobs of SVC: every request becomes a job. docs/openai.md explains what differs, with
recipes for clients.

Unknown query parameters are ignored and unknown fields of a body are passed on to the provider. \`x-svc\` of a field says what
becomes of it: \`honoured\`, \`passed_on\` to the provider, \`ignored\`, or \`refused\` with 400 unless it asks for nothing. In a
body, null is the same as left out.

Every error has OpenAI's body; programs should use \`code\`. A path that does not exist returns 404 \`unknown_url\`, a method that
does not exist 405 \`method_not_allowed\` with \`Allow\`.
`;

const keyScheme = {
  type: 'http',
  scheme: 'bearer',
  description:
    'A key of SVC, also taken from `X-Api-Key`. `x-role` of an operation is the role that it requires: `viewer` reads; `client` also makes jobs, and reads only its own; `operator` and `admin` may do all of it.',
};

const tags = {
  Chat: 'Chat completions, and those that were stored.',
  Responses: 'The Responses API.',
  Batches: 'Many requests in one file.',
  Files: 'What batches read and write.',
  Models: 'What can be asked for.',
  Service: 'This document.',
} as const;

/** Of every response; streams have no `OpenAI-Processing-Ms`. */
const answerHeaders = {
  ...requestIdHeader,
  'OpenAI-Processing-Ms': reference('headers', 'ProcessingMs', {
    description: 'How long the response took, ms. Streams do not have it.',
    schema: { type: 'string', pattern: '^\\d+$' },
  }),
  ...Object.fromEntries(
    [
      ['Limit', 'How many requests may come at once.', '^\\d+$'],
      ['Remaining', 'How many of them are left.', '^\\d+$'],
      [
        'Reset',
        'When all of them are there again: `20ms`, `1.5s`, `6m0s`.',
        '^[\\d.]+(ms|s|m\\d+s|h\\d+m\\d+s)$',
      ],
    ].map(([name, description, pattern]) => [
      `X-RateLimit-${name}-Requests`,
      reference('headers', `RateLimit${name}`, {
        description: `${description} Only while \`http.rate_limit_per_key\` is set.`,
        schema: { type: 'string', pattern },
      }),
    ]),
  ),
};

/** The document of `/v1`, made of what its routes say of themselves. Routes without `document` are not in it. */
export function openAiDocument(routes: readonly ServedRoute[]): JsonSchema {
  const described = routes.flatMap(({ document, ...route }) =>
    document === undefined ? [] : [operationOf(route, document)],
  );
  return documentOf({ title: "OpenAI's API of SVC", about, keyScheme, tags }, described);
}

function operationOf(
  { method, path, role }: ServedRoute,
  { query = {}, body, answers, errors = [], ...document }: DoorOperation,
): DescribedOperation {
  const statuses = new Set([...commonErrors, ...(body === undefined ? [] : bodyErrors), ...errors]);
  const refused = [...statuses].map((status) => [status, errorResponse(status, answerHeaders)]);
  const parameters = Object.entries(query).map(([name, parameter]) => [name, { document: parameter }]);
  return {
    ...document,
    method,
    path,
    role,
    query: Object.fromEntries(parameters),
    ...(body === undefined ? {} : { body: contentOf(body) }),
    responses: { ...Object.fromEntries(refused), ...Object.fromEntries(answered(answers)) },
  };
}

function contentOf({ type = 'application/json', schema }: NonNullable<DoorOperation['body']>) {
  return { content: { [type]: { schema } } };
}

function answered(answers: DoorOperation['answers']): [string, JsonSchema][] {
  return Object.entries(answers).map(([status, { description, content = {} }]) => {
    const media = Object.entries(content).map(([type, schema]) => [type, { schema }]);
    const described = media.length === 0 ? {} : { content: Object.fromEntries(media) };
    return [status, { description, headers: answerHeaders, ...described }];
  });
}
