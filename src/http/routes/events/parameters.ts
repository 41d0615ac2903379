import { nameLengthMax } from '../../../domain/limits.ts';
import { parseTopic, type Topic } from '../../../domain/liveProtocol.ts';
import { type Parameter, parameter } from '../../query.ts';
import { reference } from '../../shape/shape.ts';

const topicsMax = 100;
const topicsDefault: readonly Topic[] = ['jobs', 'workers', 'providers'];

/** Numbers of events have 16 digits. */
const seqPattern = /^\d{1,16}$/;

/** What every stream takes. */
export const placeParameters = {
  since: parameter(
    { type: 'integer', minimum: 0 },
    {
      description:
        'The `seq` of the last event that the client has, for those that cannot set `Last-Event-ID`. What came after it is sent again; if that is too long ago, a snapshot with `gap` is sent.',
    },
    (query, field) => {
      const asked = query.text(field);
      if (asked !== null && !seqPattern.test(asked)) query.fault(field, 'must be the seq of an event');
      return asked === null ? null : Number(asked);
    },
  ),
  /** The authentication has read it. */
  ticket: parameter(
    { type: 'string' },
    { description: 'Instead of a key, for browsers; `POST /api/tickets` issues one.' },
    (query, field) => query.text(field),
  ),
};

export const lastEventIdHeader = reference('parameters', 'LastEventId', {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'The same as `since`; a browser sends it by itself when it connects again.',
  schema: { type: 'string' },
});

/** The last event that the client has; null for none. What a browser sends by itself goes before what stands in the address. */
export function placeOf(since: number | null, lastEventId: unknown): number | null {
  if (typeof lastEventId !== 'string' || lastEventId === '') return since;
  return seqPattern.test(lastEventId) ? Number(lastEventId) : 0;
}

export const topics: Parameter<Topic[]> = parameter(
  { type: 'string' },
  {
    description:
      '`jobs`, `workers`, `providers`, `queue`, `runs`, `stats`, `machines`, `inspect` (admin) or `job:<id>`, separated by commas or repeated. The first three by default.',
    example: 'jobs,stats',
  },
  (query, field) => {
    const asked = query
      .all(field, { lengthMax: topicsMax * nameLengthMax })
      .flatMap((text) => text.split(','))
      .flatMap((text) => {
        const topic = parseTopic(text);
        if (topic !== null) return [topic];
        query.fault(field, 'must be stats, jobs, workers, providers, queue, machines, inspect or job:<id>');
        return [];
      });
    if (asked.length > topicsMax) query.fault(field, `must be at most ${topicsMax} topics`);
    return asked.length === 0 ? [...topicsDefault] : asked;
  },
);
