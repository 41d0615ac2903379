import type { CalendarPeriod, CostSpan, DayRange, PeriodName } from '../domain/costReport.ts';
import { dayAt, hoursBetween, startOfDay } from '../lib/timeZone.ts';

const dayMs = 86_400_000;

/**
 * The current calendar period of a zone at `now`: the day from midnight, the week from Monday, the month from the 1st.
 * All its edges are on quarter-hours.
 * @param zone IANA name.
 */
export function periodAt(name: PeriodName, zone: string, now: number): CalendarPeriod {
  const end = now + 1;
  const today = dayAt(zone, now);
  const [previousDay, firstDay] = firstDays(name, today);
  const from = startOfDay(zone, firstDay);
  const begins = name === 'day' ? hoursBetween(zone, from, now) : daysBetween(zone, firstDay, today);
  return { name, zone, previousFrom: startOfDay(zone, previousDay), from, to: now, end, begins };
}

/** The days of a zone from the first to the last, up to now, and as many days before them. */
function daysUntil({ firstDay, lastDay }: DayRange, zone: string, now: number): CalendarPeriod {
  const from = startOfDay(zone, firstDay);
  const over = startOfDay(zone, lastDay + 1);
  const isOver = over <= now;
  const to = isOver ? over : Math.max(from, now);
  const previousFrom = startOfDay(zone, firstDay - (lastDay - firstDay + 1));
  const lastMoment = isOver ? over - 1 : to;
  const begins =
    firstDay === lastDay
      ? hoursBetween(zone, from, lastMoment)
      : daysBetween(zone, firstDay, Math.min(lastDay, dayAt(zone, lastMoment)));
  return { name: 'custom', zone, previousFrom, from, to, end: isOver ? over : to + 1, begins };
}

/** The current calendar period, or the days, of a zone at `now`; see `periodAt`. */
export function spanAt(span: CostSpan, zone: string, now: number): CalendarPeriod {
  return typeof span === 'string' ? periodAt(span, zone, now) : daysUntil(span, zone, now);
}

/** First day of the period before and of the one of `today`; days since 1970-01-01, which was a Thursday. */
function firstDays(name: PeriodName, today: number): [previous: number, current: number] {
  if (name === 'day') return [today - 1, today];
  if (name === 'week') {
    const monday = today - ((today + 3) % 7);
    return [monday - 7, monday];
  }
  const date = new Date(today * dayMs);
  const first = (months: number): number =>
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / dayMs;
  return [first(-1), first(0)];
}

/** Days that a zone skipped (Samoa, 2011-12-30) start where the next one does, and are skipped here too. */
function daysBetween(zone: string, first: number, last: number): number[] {
  const begins: number[] = [];
  for (let day = first; day <= last; day += 1) {
    const begin = startOfDay(zone, day);
    if (begin !== begins.at(-1)) begins.push(begin);
  }
  return begins;
}
