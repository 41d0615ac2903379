/*
 * OpenAI's API under `/v1`, so that what speaks to OpenAI can speak to SVC: parsers and presenters over the coordinator's
 * services, with no state of a job of its own. Whatever comes in is a job, durable before the first byte of the response.
 */

import { CoordinatorError } from '../../domain/errors.ts';
import type { Door } from '../../http/door.ts';
import type { ServedRoute } from '../../http/route.ts';
import { type LineParts, OpenAiLines } from './batches/lines.ts';
import { batchRoutes } from './batches/routes.ts';
import { chatRoutes } from './chat/routes.ts';
import { presentError } from './errors.ts';
import { fileRoutes } from './files/routes.ts';
import { processingHeader, rateLimitHeaders } from './headers.ts';
import { modelRoutes } from './modelRoutes.ts';
import { Catalogues } from './models.ts';
import { openAiDocument } from './openapi/document.ts';
import { openapiRoute } from './openapi/routes.ts';
import { responseRoutes } from './responses/routes.ts';

export { startingError } from './errors.ts';

/** Go on with the batches of a coordinator, whether the door is open or not: what was accepted is done. */
export function openBatches(parts: Omit<LineParts, 'catalogues'>): void {
  parts.coordinator.batches.open(new OpenAiLines({ ...parts, catalogues: new Catalogues() }));
}

/** The door of one coordinator. */
export function openAiDoor(): Door {
  const catalogues = new Catalogues();
  const routes: ServedRoute[] = [
    ...modelRoutes(catalogues),
    ...chatRoutes(catalogues),
    ...responseRoutes(catalogues),
    ...fileRoutes,
    ...batchRoutes,
    openapiRoute(() => openAiDocument(routes)),
  ];
  return {
    path: '/v1',
    routes,
    keyHeader: 'X-Api-Key',
    closed: ({ front }) =>
      front.openai
        ? null
        : new CoordinatorError('not_found', 'The OpenAI API is switched off here (front.openai)'),
    present: presentError,
    limited: rateLimitHeaders,
    timed: processingHeader,
  };
}
