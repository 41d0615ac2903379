import { type BreakdownName, breakdowns, type PeriodName, periodNames } from '../../../domain/costReport.ts';
import { isTimeZone } from '../../../lib/timeZone.ts';
import { Query, type RawQuery } from '../../query.ts';

const zoneExample = 'must be a time zone of the IANA database as Europe/Berlin';

/** The query of GET /api/cost/summary. @throws CoordinatorError invalid_request. */
export function parseSummary(raw: RawQuery): { period: PeriodName; zone: string } {
  const query = new Query(raw);
  const parsed = periodOf(query);
  query.done();
  return parsed;
}

/** The query of GET /api/cost/breakdown. @throws CoordinatorError invalid_request. */
export function parseBreakdown(raw: RawQuery): { period: PeriodName; zone: string; by: BreakdownName } {
  const query = new Query(raw);
  const parsed = { ...periodOf(query), by: oneOf(query, 'by', breakdowns) ?? 'provider' };
  query.done();
  return parsed;
}

function periodOf(query: Query): { period: PeriodName; zone: string } {
  const zone = query.text('tz');
  if (zone !== null && zone !== '' && !isTimeZone(zone)) query.fault('tz', zoneExample);
  return { period: oneOf(query, 'period', periodNames) ?? 'day', zone: zone ?? 'UTC' };
}

/** null when it is not given or is a fault; an empty one is told by `text`. */
function oneOf<T extends string>(query: Query, field: string, known: readonly T[]): T | null {
  const text = query.text(field);
  const word = known.find((one) => one === text) ?? null;
  if (text !== null && text !== '' && word === null) query.fault(field, `must be one of ${known.join(', ')}`);
  return word;
}
