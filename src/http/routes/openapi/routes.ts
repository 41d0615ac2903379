import { tagged } from '../../etag.ts';
import { etagHeader, ifNoneMatchHeader, notModified } from '../../openapi/headers.ts';
import { defineRoute, type Route } from '../../route.ts';
import type { JsonSchema, Shape } from '../../shape/shape.ts';

const documentShape: Shape<JsonSchema> = {
  schema: { type: 'object', required: ['openapi', 'info', 'paths'], additionalProperties: true },
};

/** GET /api/openapi.json. @param document made when it is first asked for, which is what most starts never do. */
export function openapiRoutes(document: () => JsonSchema): readonly Route[] {
  let made: JsonSchema | null = null;
  const getOpenApi = defineRoute({
    method: 'GET',
    path: '/api/openapi.json',
    role: 'viewer',
    name: 'getOpenApi',
    tag: 'Service',
    summary: 'This document, as JSON',

    headers: [ifNoneMatchHeader],
    answers: {
      200: { description: 'An OpenAPI 3.1 document.', shape: documentShape, headers: etagHeader },
      304: notModified,
    },

    handle: ({ headers }) => {
      made ??= document();
      return tagged(made, headers['if-none-match']);
    },
  });
  return [getOpenApi];
}
