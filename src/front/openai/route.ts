import type { Middleware } from 'koa';
import { jsonBody } from '../../http/middleware/jsonBody.ts';
import { smallBody } from '../../http/middleware/smallBody.ts';
import { streamBody } from '../../http/middleware/streamBody.ts';
import type { HttpParts } from '../../http/parts.ts';
import type { Answer, OwnAnswer, RawRequest, ServedRoute } from '../../http/route.ts';
import { errorAnswer, OpenAiError } from './errors.ts';

type Handler = (request: RawRequest, parts: HttpParts) => Promise<Answer | OwnAnswer>;

/** How the routes of `/v1` read bodies. */
const readers = {
  object: ({ uploads, config }: HttpParts): Middleware => jsonBody(uploads, () => config().http.maxBodyBytes),
  smallObject: smallBody,
  stream: streamBody,
} as const;

interface Settings extends Pick<ServedRoute, 'method' | 'path' | 'role' | 'document'> {
  /** A JSON object of any size, one of at most 64 KiB, or what the route reads itself, as a `BodyStream`; none without it. */
  reads?: keyof typeof readers;
  handle: Handler;
}

/** A route of `/v1`. Unlike native ones it takes any query, and an `OpenAiError` becomes its response. */
export function defineDoorRoute({ reads, handle, ...route }: Settings): ServedRoute {
  return {
    ...route,
    ...(reads === undefined ? {} : { body: { reader: readers[reads] } }),
    answer: async (request, parts) => {
      try {
        return await handle(request, parts);
      } catch (error) {
        if (error instanceof OpenAiError) return errorAnswer(error);
        throw error;
      }
    },
  };
}
