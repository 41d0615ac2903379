import { defineStream, type Route } from '../../route.ts';
import { text } from '../../shape/shape.ts';
import { jobId } from '../jobs/parameters.ts';
import { lastEventIdHeader, placeOf, placeParameters, topics } from './parameters.ts';

const eventStream = {
  description: 'The stream. Each event has its `seq` as id, its type as event, and one line of JSON as data.',
  type: 'text/event-stream',
  shape: text(),
};

const followEvents = defineStream({
  method: 'GET',
  path: '/api/events',
  role: 'viewer',
  name: 'followEvents',
  tag: 'Live',
  summary: 'Follow what happens',
  description:
    'An event stream with the same events as the WebSocket of the dashboard: first a `snapshot` of each topic, then its events. docs/live-events.md describes them.',

  query: { topics, ...placeParameters },
  headers: [lastEventIdHeader],
  answers: { 200: eventStream },
  problems: ['JobNotFound', 'TooManySubscribers', 'Draining'],

  stream: ({ query, headers, principal }, { streams }) => {
    const since = placeOf(query.since, headers['last-event-id']);
    return streams.all({ principal, topics: query.topics, since });
  },
});

const followJob = defineStream({
  method: 'GET',
  path: '/api/jobs/:id/events',
  role: 'viewer',
  name: 'followJob',
  tag: 'Live',
  summary: 'Follow a job to its end',
  description:
    'An event stream: first a `snapshot` with the job and the output of the running attempt so far, then its changes of state and the output as it is generated. It ends when the job has ended. docs/live-events.md describes the events.',

  params: { id: jobId },
  query: placeParameters,
  headers: [lastEventIdHeader],
  answers: {
    200: eventStream,
    204: {
      description:
        'The job has ended and the client has every event of it; a browser does not connect again.',
    },
  },
  problems: ['JobNotFound', 'TooManySubscribers', 'Draining'],

  stream: ({ params: { id }, query, headers, principal }, { streams }) =>
    streams.job({ principal, jobId: id, since: placeOf(query.since, headers['last-event-id']) }),
});

/** /api/events and /api/jobs/:id/events: live events as event streams. */
export const eventRoutes: readonly Route[] = [followEvents, followJob];
