import { type CostSpan, type DayRange, type PeriodName, periodNames } from '../../../domain/costReport.ts';
import { isTimeZone } from '../../../lib/timeZone.ts';
import { type Parameter, parameter, type Query, word } from '../../query.ts';

const dayMs = 86_400_000;
/** A year: the course of more days is more than anybody reads. */
const daysMax = 366;

const zoneExample = 'must be a time zone of the IANA database as Europe/Berlin';

/** What a day was read as: days since 1970-01-01, or null for a fault; undefined when it was not given. */
type Day = number | null | undefined;

const day = (description: string, example: string): Parameter<Day> =>
  parameter(
    { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
    { description, example },
    (query, field) => {
      const text = query.text(field);
      if (text === null) return undefined;
      const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
      // 2026-02-30 would be read as 2026-03-02.
      if (!Number.isNaN(at) && new Date(at).toISOString().startsWith(text)) return at / dayMs;
      query.fault(field, 'must be a date as 2026-11-21');
      return null;
    },
  );

/** The parameters that say of which time a report is. */
export const periodParameters = {
  period: word(periodNames, { description: 'The current one; not together with `from` and `to`.' }, 'day'),
  from: day(
    `First day of a report of days, in the time zone \`tz\`; with \`to\`, at most ${daysMax} days.`,
    '2026-11-01',
  ),
  to: day('Last day, included.', '2026-11-21'),
  tz: parameter(
    { type: 'string', default: 'UTC' },
    { description: 'IANA name of the time zone of the days.', example: 'Europe/Berlin' },
    (query, field) => {
      const zone = query.text(field);
      if (zone !== null && zone !== '' && !isTimeZone(zone)) query.fault(field, zoneExample);
      return zone ?? 'UTC';
    },
  ),
};

interface PeriodValues {
  period: PeriodName | null;
  from: Day;
  to: Day;
}

/** The faults of several parameters together. */
export function checkPeriod({ period, from, to }: PeriodValues, fault: Query['fault']): void {
  if (from === undefined && to === undefined) return;
  if (from === undefined || to === undefined) {
    fault(from === undefined ? 'from' : 'to', 'is needed too');
    return;
  }
  if (from === null || to === null) return;
  if (to < from) fault('to', 'must not be before from');
  else if (to - from >= daysMax) fault('to', `must be at most ${daysMax} days from the first`);
  if (period !== null) fault('period', 'and from, to exclude each other');
}

/** The time of a report; the parameters were checked. */
export function spanOf({ period, from, to }: PeriodValues): CostSpan {
  const isRange = typeof from === 'number' && typeof to === 'number';
  const range: DayRange | null = isRange ? { firstDay: from, lastDay: to } : null;
  return range ?? period ?? 'day';
}
