import type { ServerResponse } from 'node:http';
import type { Principal } from '../../../domain/key.ts';
import type { Topic } from '../../../domain/liveProtocol.ts';
import type { Route } from '../../route.ts';
import { parseEvents, parseJobEvents } from './schema.ts';

interface StreamRequest {
  principal: Principal;
  /** The last event the client has; null for none. */
  since: number | null;
}

type StartStream = (response: ServerResponse) => void;

/** Who makes event streams; the routes only read requests for it. */
export interface EventStreams {
  all(request: StreamRequest & { topics: readonly Topic[] }): Promise<StartStream>;
  /** @returns null when the client has the job's end already. */
  job(request: StreamRequest & { jobId: string }): Promise<StartStream | null>;
  /** Why a live connection would be refused now; null when there is room. */
  refusal(principal: Principal): string | null;
}

/** /api/events and /api/jobs/:id/events: live events as event streams. */
export function eventRoutes(streams: EventStreams): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/events',
      role: 'viewer',
      stream: ({ query, headers, principal }) =>
        streams.all({ principal, ...parseEvents(query, headers['last-event-id']) }),
    },
    {
      method: 'GET',
      path: '/api/jobs/:id/events',
      role: 'viewer',
      stream: ({ params: { id = '' }, query, headers, principal }) =>
        streams.job({ principal, jobId: id, ...parseJobEvents(query, headers['last-event-id']) }),
    },
  ];
}
