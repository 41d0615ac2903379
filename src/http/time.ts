import { string } from 'yup';

/** Whether a text is a point in time in ISO 8601, date and time of day. */
export function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text));
}

export const timeMessage = 'must be a time as in 2026-11-21T09:00:00Z';

/** A schema for a time. */
export const time = () => string().test('time', timeMessage, (text) => text === undefined || isTime(text));
