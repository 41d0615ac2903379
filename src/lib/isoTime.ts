const pattern = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Whether a text is a time in RFC 3339: a date that exists, a time of day, and the offset to UTC. `Date.parse` alone
 * accepts February 30th as a day in March, and reads a time without a zone as local time.
 */
export function isTime(text: string): boolean {
  const [, year, month, day] = pattern.exec(text) ?? [];
  return isDate(Number(year), Number(month), Number(day)) && !Number.isNaN(Date.parse(text));
}

/** Whether the day exists. @param month 1..12. */
export function isDate(year: number, month: number, day: number): boolean {
  return day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
