const pattern = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Whether a text is a point in time as RFC 3339 has it: a date that exists, a time of day, and the distance to UTC. By
 * itself `Date.parse` takes the 30th of February for a day in March, and a time without a zone for that of this machine.
 */
export function isTime(text: string): boolean {
  const [, year, month, day] = pattern.exec(text) ?? [];
  return isDate(Number(year), Number(month), Number(day)) && !Number.isNaN(Date.parse(text));
}

/** Whether the calendar has such a day. @param month 1..12. */
export function isDate(year: number, month: number, day: number): boolean {
  return day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
