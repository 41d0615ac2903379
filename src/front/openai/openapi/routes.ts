import { tagged } from '../../../http/etag.ts';
import { ifNoneMatchHeader } from '../../../http/openapi/headers.ts';
import type { ServedRoute } from '../../../http/route.ts';
import type { JsonSchema } from '../../../http/shape/shape.ts';
import { defineDoorRoute } from '../route.ts';

/** GET /v1/openapi.json. @param document made when it is first asked for. */
export function openapiRoute(document: () => JsonSchema): ServedRoute {
  let made: JsonSchema | null = null;
  return defineDoorRoute({
    method: 'GET',
    path: '/v1/openapi.json',
    role: 'viewer',
    document: {
      name: 'getOpenApi',
      tag: 'Service',
      summary: 'This document, as JSON',
      headers: [ifNoneMatchHeader],
      answers: {
        200: {
          description: 'An OpenAPI 3.1 document, with an `ETag`.',
          content: { 'application/json': { type: 'object', additionalProperties: true } },
        },
        304: { description: "The client's copy is still current. No body." },
      },
    },
    handle: async ({ headers }) => {
      made ??= document();
      return tagged(made, headers['if-none-match']);
    },
  });
}
