const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Every offset in use is a multiple of it, and clocks change on one: in every zone days and hours begin on one. */
const quarterMs = 900_000;
/** No local time is further from UTC: −12 to +14 hours. */
const offsetMaxMs = 15 * 3_600_000;
/** Zones whose formatter is kept: some 25 KB each, made in 0.3 ms. There are about 420; names may be written in any case. */
const formattersMax = 100;

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  // Swedish writes 2026-11-21 09:30. Formatting and parsing that takes 1.5 µs, `formatToParts` 13 µs.
  const formatter = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  if (formatters.size >= formattersMax) formatters.clear();
  formatters.set(zone, formatter);
  return formatter;
}

/** Whether it is the name of a zone of the IANA database, `Europe/Berlin`. An offset such as `+01:23` is not. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    formatterOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The wall time of a zone, as if it were UTC: epoch ms, to the minute. */
function wallTime(zone: string, at: number): number {
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0] = (
    formatterOf(zone).format(at).match(/\d+/g) ?? []
  ).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute);
}

/** The local date at a time: days since 1970-01-01. */
export function dayAt(zone: string, at: number): number {
  return Math.floor(wallTime(zone, at) / dayMs);
}

/**
 * When a local date begins, epoch ms: the first moment at which clocks show it or a later one. That is midnight, or the
 * moment of the change where clocks skip midnight.
 * @param day days since 1970-01-01.
 */
export function startOfDay(zone: string, day: number): number {
  let low = Math.floor((day * dayMs - offsetMaxMs) / quarterMs);
  let high = Math.ceil((day * dayMs + offsetMaxMs) / quarterMs);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (dayAt(zone, middle * quarterMs) >= day) high = middle;
    else low = middle + 1;
  }
  return low * quarterMs;
}

/**
 * When the hours of a local day begin, from `from` (the start of that day) to `to` inclusive: whenever clocks show a
 * full hour, or skip one. A day of 25 hours has 25; half an hour that is repeated (Lord Howe) belongs to the hour
 * before.
 */
export function hoursBetween(zone: string, from: number, to: number): number[] {
  const hours = [from];
  let before = Math.floor(wallTime(zone, from) / 3_600_000);
  for (let at = from + quarterMs; at <= to; at += quarterMs) {
    const wall = wallTime(zone, at);
    const hour = Math.floor(wall / 3_600_000);
    if (hour !== before || (wall / minuteMs) % 60 === 0) hours.push(at);
    before = hour;
  }
  return hours;
}
