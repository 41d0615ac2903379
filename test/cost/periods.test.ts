import test from 'ava';
import fc from 'fast-check';
import { periodAt, spanAt } from '../../src/cost/periods.ts';
import { bucketMs } from '../../src/domain/cost.ts';
import { periodNames } from '../../src/domain/costReport.ts';
import { isTimeZone } from '../../src/lib/timeZone.ts';

const at = (text: string): number => Date.parse(text);
const iso = (time: number): string => new Date(time).toISOString().replace(':00.000Z', 'Z');

function edges(name: (typeof periodNames)[number], zone: string, now: string): string[] {
  const { previousFrom, from } = periodAt(name, zone, at(now));
  return [iso(previousFrom), iso(from)];
}

function hours(zone: string, now: string): string[] {
  return periodAt('day', zone, at(now)).begins.map(iso);
}

test('a day begins at local midnight, a week on Monday, a month on the 1st', (t) => {
  const now = '2026-11-21T09:30:00Z';
  t.deepEqual(edges('day', 'UTC', now), ['2026-11-20T00:00Z', '2026-11-21T00:00Z']);
  t.deepEqual(edges('week', 'UTC', now), ['2026-11-09T00:00Z', '2026-11-16T00:00Z']);
  t.deepEqual(edges('month', 'UTC', now), ['2026-10-01T00:00Z', '2026-11-01T00:00Z']);
  t.deepEqual(edges('day', 'America/New_York', now), ['2026-11-20T05:00Z', '2026-11-21T05:00Z']);
  t.deepEqual(edges('day', 'Asia/Kolkata', now), ['2026-11-19T18:30Z', '2026-11-20T18:30Z']);
  t.deepEqual(edges('day', 'Asia/Kathmandu', now), ['2026-11-19T18:15Z', '2026-11-20T18:15Z']);
  t.deepEqual(edges('week', 'Asia/Kathmandu', now), ['2026-11-08T18:15Z', '2026-11-15T18:15Z']);
  t.deepEqual(edges('day', 'Pacific/Chatham', now), ['2026-11-19T10:15Z', '2026-11-20T10:15Z']);
  // It is Sunday there already, and the month is another one.
  t.deepEqual(edges('day', 'Pacific/Kiritimati', '2026-11-30T10:00:00Z'), [
    '2026-11-29T10:00Z',
    '2026-11-30T10:00Z',
  ]);
  t.deepEqual(edges('month', 'Pacific/Kiritimati', '2026-11-30T10:00:00Z'), [
    '2026-10-31T10:00Z',
    '2026-11-30T10:00Z',
  ]);
  t.deepEqual(edges('month', 'Etc/GMT+12', '2026-12-01T11:59:00Z'), [
    '2026-10-01T12:00Z',
    '2026-11-01T12:00Z',
  ]);
});

test('a week that begins in another month or year is whole', (t) => {
  t.deepEqual(edges('week', 'UTC', '2027-01-01T00:00:00Z'), ['2026-12-21T00:00Z', '2026-12-28T00:00Z']);
  t.deepEqual(edges('week', 'UTC', '2026-11-16T00:00:00Z'), ['2026-11-09T00:00Z', '2026-11-16T00:00Z']);
  t.deepEqual(edges('month', 'UTC', '2027-01-31T23:59:59Z'), ['2026-12-01T00:00Z', '2027-01-01T00:00Z']);
});

test('the day on which clocks go back has 25 hours, that on which they go forward 23', (t) => {
  const back = hours('Europe/Berlin', '2026-10-25T22:59:00Z');
  t.is(back.length, 25);
  t.deepEqual(back.slice(0, 5), [
    '2026-10-24T22:00Z',
    '2026-10-24T23:00Z',
    '2026-10-25T00:00Z',
    '2026-10-25T01:00Z',
    '2026-10-25T02:00Z',
  ]);
  t.is(hours('Europe/Berlin', '2026-03-29T21:59:00Z').length, 23);
  t.is(hours('Europe/Berlin', '2026-11-21T22:59:00Z').length, 24);
  t.deepEqual(edges('day', 'Europe/Berlin', '2026-10-25T23:30:00Z'), [
    '2026-10-24T22:00Z',
    '2026-10-25T23:00Z',
  ]);
});

test('Lord Howe moves its clocks by half an hour', (t) => {
  // Back from 02:00 to 01:30 on 2026-04-05: the hour of 01 lasts 90 minutes. Forward from 02:00 to 02:30 on 2026-10-04.
  const back = hours('Australia/Lord_Howe', '2026-04-05T13:29:00Z');
  t.deepEqual(back.slice(0, 4), [
    '2026-04-04T13:00Z',
    '2026-04-04T14:00Z',
    '2026-04-04T15:30Z',
    '2026-04-04T16:30Z',
  ]);
  t.is(back.length, 24);
  const forward = hours('Australia/Lord_Howe', '2026-10-04T12:59:00Z');
  t.deepEqual(forward.slice(0, 4), [
    '2026-10-03T13:30Z',
    '2026-10-03T14:30Z',
    '2026-10-03T15:30Z',
    '2026-10-03T16:00Z',
  ]);
  t.is(forward.length, 24);
  t.deepEqual(edges('day', 'Australia/Lord_Howe', '2026-10-04T13:00:00Z'), [
    '2026-10-03T13:30Z',
    '2026-10-04T13:00Z',
  ]);
});

test('where clocks go forward over midnight the day begins at the change', (t) => {
  // Beirut, 2026-03-29: 00:00 becomes 01:00. Cairo, 2026-04-24, the same.
  t.deepEqual(edges('day', 'Asia/Beirut', '2026-03-29T12:00:00Z'), [
    '2026-03-27T22:00Z',
    '2026-03-28T22:00Z',
  ]);
  t.deepEqual(edges('day', 'Africa/Cairo', '2026-04-24T12:00:00Z'), [
    '2026-04-22T22:00Z',
    '2026-04-23T22:00Z',
  ]);
  t.is(hours('Africa/Cairo', '2026-04-24T20:59:00Z').length, 23);
});

test('days of a week and month that have a change of clocks begin at midnight, each', (t) => {
  const { begins } = periodAt('week', 'Europe/Berlin', at('2026-10-26T12:00:00Z') - 86_400_000);
  t.deepEqual(begins.map(iso), [...[18, 19, 20, 21, 22, 23, 24].map((day) => `2026-10-${day}T22:00Z`)]);
  t.is(periodAt('month', 'America/New_York', at('2026-11-30T23:00:00Z')).begins.length, 30);
});

test('a day that a zone left out is nobody’s', (t) => {
  // Samoa went from the 29th to the 31st of December 2011: seven dates, six days.
  const { begins } = periodAt('week', 'Pacific/Apia', at('2012-01-01T00:00:00Z'));
  t.deepEqual(
    begins.map(iso),
    [26, 27, 28, 29, 30, 31].map((day) => `2011-12-${day}T10:00Z`),
  );
});

test('names of zones are those of the IANA database, in any case; offsets are none', (t) => {
  for (const name of ['UTC', 'Europe/Berlin', 'europe/berlin', 'Asia/Calcutta', 'Etc/GMT+5'])
    t.true(isTimeZone(name), name);
  for (const name of ['', 'Mars/One', '+01:23', '+05:45', '-03:00', 'Z', 'local', 'Europe/Berlin ']) {
    t.false(isTimeZone(name), name);
  }
});

test('in every zone, at any time of three years, periods join without a gap and fall on the edges of buckets', (t) => {
  const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));
  const time = fc.integer({ min: at('2025-01-01'), max: at('2028-01-01') });
  fc.assert(
    fc.property(zone, time, fc.constantFrom(...periodNames), (where, now, name) => {
      const { previousFrom, from, to, begins } = periodAt(name, where, now);
      t.true(previousFrom < from && from <= now);
      t.is(to, now);
      t.is(begins[0], from);
      for (const edge of [previousFrom, ...begins]) t.is(edge % bucketMs, 0);
      for (const [i, begin] of begins.entries()) t.true(begin <= now && begin > (begins[i - 1] ?? 0));
      // The moment before it began was the period before.
      t.is(periodAt(name, where, from - 1).from, previousFrom);
      t.is(periodAt(name, where, from).from, from);
    }),
    { numRuns: 400 },
  );
});

test('days have their own midnights, also when clocks change, and as many days before them', (t) => {
  const day = (text: string): number => at(`${text}T00:00:00Z`) / 86_400_000;
  const span = { firstDay: day('2026-10-24'), lastDay: day('2026-10-25') };
  const now = at('2026-11-21T09:30:00Z');
  const { previousFrom, from, to, end, begins, name } = spanAt(span, 'Europe/Berlin', now);
  t.is(name, 'custom');
  t.deepEqual([previousFrom, from, to].map(iso), [
    '2026-10-21T22:00Z',
    '2026-10-23T22:00Z',
    '2026-10-25T23:00Z',
  ]);
  t.is(end, to, 'what ends at the midnight after is of the next day');
  t.deepEqual(begins.map(iso), ['2026-10-23T22:00Z', '2026-10-24T22:00Z']);
  const long = spanAt({ firstDay: span.lastDay, lastDay: span.lastDay }, 'Europe/Berlin', now);
  t.is(long.begins.length, 25, 'the day on which clocks go back');
  const running = spanAt({ firstDay: day('2026-11-20'), lastDay: day('2026-11-30') }, 'UTC', now);
  t.deepEqual([running.to, running.end, running.begins.length], [now, now + 1, 2]);
  const coming = spanAt({ firstDay: day('2026-12-01'), lastDay: day('2026-12-09') }, 'UTC', now);
  t.deepEqual([coming.from, coming.to, coming.begins.length], [at('2026-12-01T00:00:00Z'), coming.from, 1]);
});
