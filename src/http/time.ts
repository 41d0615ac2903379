import { string } from 'yup';
import { isTime } from '../lib/isoTime.ts';

export const timeMessage = 'must be a time as in 2026-11-21T09:00:00Z';

/** A schema for a time. */
export const time = (notes: { description?: string } = {}) =>
  string()
    .test('time', timeMessage, (text) => text === undefined || text === null || isTime(text))
    .meta({ ...notes, json: { format: 'date-time' }, fast: { time: isTime } });
