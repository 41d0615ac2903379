/*
 * OpenAI's API under `/v1`, so that what speaks to OpenAI can speak to SVC: parsers and presenters over the coordinator's
 * services, with no state of a job of its own. Whatever comes in is a job, durable before the first byte of the response.
 */

import { CoordinatorError } from '../../domain/errors.ts';
import type { Door } from '../../http/door.ts';
import { chatRoutes } from './chat/routes.ts';
import { presentError } from './errors.ts';
import { modelRoutes } from './modelRoutes.ts';
import { Catalogues } from './models.ts';

/** The door of one coordinator. */
export function openAiDoor(): Door {
  const catalogues = new Catalogues();
  return {
    path: '/v1',
    routes: [...modelRoutes(catalogues), ...chatRoutes(catalogues)],
    keyHeader: 'X-Api-Key',
    closed: ({ front }) =>
      front.openai
        ? null
        : new CoordinatorError('not_found', 'The OpenAI API is switched off here (front.openai)'),
    present: presentError,
  };
}
