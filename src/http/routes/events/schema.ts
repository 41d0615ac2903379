import { nameLengthMax } from '../../../domain/limits.ts';
import { parseTopic, type Topic } from '../../../domain/liveProtocol.ts';
import { Query, type RawQuery } from '../../query.ts';

const topicsMax = 100;
const topicsDefault: readonly Topic[] = ['jobs', 'workers', 'providers'];

/** Numbers of events have 16 digits. */
const seqPattern = /^\d{1,16}$/;

/** What every stream takes: a ticket, which the authentication has read, and the last event the client has. */
function readPlace(query: Query, lastEventId: unknown): number | null {
  query.text('ticket');
  const asked = query.text('since');
  if (asked !== null && !seqPattern.test(asked)) query.fault('since', 'must be the seq of an event');
  // What a browser sends by itself when it connects again goes before what stands in the address.
  if (typeof lastEventId !== 'string' || lastEventId === '') return asked === null ? null : Number(asked);
  return seqPattern.test(lastEventId) ? Number(lastEventId) : 0;
}

/** The query of GET /api/events. @throws CoordinatorError invalid_request. */
export function parseEvents(raw: RawQuery, lastEventId: unknown): { topics: Topic[]; since: number | null } {
  const query = new Query(raw);
  const since = readPlace(query, lastEventId);
  const topics = query
    .all('topics', { lengthMax: topicsMax * nameLengthMax })
    .flatMap((text) => text.split(','))
    .flatMap((text) => {
      const topic = parseTopic(text);
      if (topic === null)
        query.fault(
          'topics',
          'must be stats, jobs, workers, providers, queue, machines, inspect or job:<id>',
        );
      return topic === null ? [] : [topic];
    });
  if (topics.length > topicsMax) query.fault('topics', `must be at most ${topicsMax}`);
  query.done();
  return { topics: topics.length === 0 ? [...topicsDefault] : topics, since };
}

/** The query of GET /api/jobs/:id/events. @throws CoordinatorError invalid_request. */
export function parseJobEvents(raw: RawQuery, lastEventId: unknown): { since: number | null } {
  const query = new Query(raw);
  const since = readPlace(query, lastEventId);
  query.done();
  return { since };
}
