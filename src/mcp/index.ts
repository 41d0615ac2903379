/*
 * The Model Context Protocol under `/mcp`, so that agents can submit jobs and read their answers: tools over the
 * coordinator's services, by the official SDK, which speaks both eras of the protocol. No session, no state of its own.
 */

import { CoordinatorError } from '../domain/errors.ts';
import type { Door } from '../http/door.ts';
import type { HttpParts } from '../http/parts.ts';
import { presentError } from './errors.ts';
import { mcpRoute } from './route.ts';

/** The door of one coordinator. */
export function mcpDoor(parts: HttpParts): Door {
  return {
    path: '/mcp',
    routes: [mcpRoute(parts)],
    keyHeader: 'X-Api-Key',
    closed: ({ front }) =>
      front.mcp ? null : new CoordinatorError('not_found', 'MCP is switched off here (front.mcp)'),
    present: presentError,
    limited: () => ({}),
    timed: () => ({}),
  };
}
