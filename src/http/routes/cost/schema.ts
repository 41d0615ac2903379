import {
  type BreakdownName,
  breakdowns,
  type CostSpan,
  type DayRange,
  periodNames,
} from '../../../domain/costReport.ts';
import { isTimeZone } from '../../../lib/timeZone.ts';
import { Query, type RawQuery } from '../../query.ts';

const dayMs = 86_400_000;
/** A year: the course of more days is more than anybody reads. */
const daysMax = 366;

const zoneExample = 'must be a time zone of the IANA database as Europe/Berlin';

/** The query of GET /api/cost/summary. @throws CoordinatorError invalid_request. */
export function parseSummary(raw: RawQuery): { span: CostSpan; zone: string } {
  const query = new Query(raw);
  const parsed = periodOf(query);
  query.done();
  return parsed;
}

/** The query of GET /api/cost/breakdown. @throws CoordinatorError invalid_request. */
export function parseBreakdown(raw: RawQuery): { span: CostSpan; zone: string; by: BreakdownName } {
  const query = new Query(raw);
  const parsed = { ...periodOf(query), by: oneOf(query, 'by', breakdowns) ?? 'provider' };
  query.done();
  return parsed;
}

function periodOf(query: Query): { span: CostSpan; zone: string } {
  const zone = query.text('tz');
  if (zone !== null && zone !== '' && !isTimeZone(zone)) query.fault('tz', zoneExample);
  const period = oneOf(query, 'period', periodNames);
  const days = daysOf(query);
  if (days !== null && query.text('period') !== null)
    query.fault('period', 'and from, to exclude each other');
  return { span: days ?? period ?? 'day', zone: zone ?? 'UTC' };
}

/** `from` and `to`; null when they are not given or a fault. */
function daysOf(query: Query): DayRange | null {
  const [firstDay, lastDay] = [dateOf(query, 'from'), dateOf(query, 'to')];
  if (firstDay === undefined && lastDay === undefined) return null;
  if (firstDay === undefined || lastDay === undefined) {
    query.fault(firstDay === undefined ? 'from' : 'to', 'is needed too');
    return null;
  }
  if (firstDay === null || lastDay === null) return null;
  if (lastDay < firstDay) query.fault('to', 'must not be before from');
  else if (lastDay - firstDay >= daysMax) query.fault('to', `must be at most ${daysMax} days from the first`);
  return { firstDay, lastDay };
}

/** Days since 1970-01-01; undefined when it is not given, null when it is a fault. */
function dateOf(query: Query, field: string): number | null | undefined {
  const text = query.text(field);
  if (text === null) return undefined;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // 2026-02-30 would be read as 2026-03-02.
  if (!Number.isNaN(at) && new Date(at).toISOString().startsWith(text)) return at / dayMs;
  query.fault(field, 'must be a date as 2026-11-21');
  return null;
}

/** null when it is not given or is a fault; an empty one is told by `text`. */
function oneOf<T extends string>(query: Query, field: string, known: readonly T[]): T | null {
  const text = query.text(field);
  const word = known.find((one) => one === text) ?? null;
  if (text !== null && text !== '' && word === null) query.fault(field, `must be one of ${known.join(', ')}`);
  return word;
}
