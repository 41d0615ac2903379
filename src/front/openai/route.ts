import { jsonBody } from '../../http/middleware/jsonBody.ts';
import type { HttpParts } from '../../http/parts.ts';
import type { Answer, OwnAnswer, RawRequest, ServedRoute } from '../../http/route.ts';
import { errorAnswer, OpenAiError } from './errors.ts';

type Handler = (request: RawRequest, parts: HttpParts) => Promise<Answer | OwnAnswer>;

interface Settings extends Pick<ServedRoute, 'method' | 'path' | 'role'> {
  /** It reads a JSON object of any size. */
  hasBody?: true;
  handle: Handler;
}

/** A route of `/v1`. Unlike native ones it takes any query, and an `OpenAiError` becomes its response. */
export function defineDoorRoute({ hasBody, handle, ...route }: Settings): ServedRoute {
  return {
    ...route,
    ...(hasBody === true
      ? { body: { reader: ({ uploads, config }) => jsonBody(uploads, () => config().http.maxBodyBytes) } }
      : {}),
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
