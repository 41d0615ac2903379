import { Command, InvalidArgumentError } from 'commander';
import { searchLengthMax } from '../domain/limits.ts';
import { isDate } from '../lib/isoTime.ts';
import { exitCodeHelp } from './exit.ts';

/**
 * A command of ours: its help ends with examples and exit codes, and also shows the global options.
 * @param examples lines of `svc …`, with or without a remark.
 */
export function createCommand(name: string, description: string, examples: readonly string[]): Command {
  return new Command(name)
    .description(description)
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}\n${exitCodeHelp}`);
}

/** For repeatable options. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** For repeatable `name=value` options. */
export function collectPair(value: string, before: string[] = []): string[] {
  if (value.indexOf('=') > 0) return [...before, value];
  throw new InvalidArgumentError('It must be name=value.');
}

/** For options with a search text. */
export function searchText(value: string): string {
  if (value.length <= searchLengthMax) return value;
  throw new InvalidArgumentError(`It must have at most ${searchLengthMax} characters.`);
}

/** For options in seconds. */
export function seconds(value: string): number {
  const number = Number(value);
  if (value.trim() !== '' && Number.isFinite(number) && number >= 0) return number;
  throw new InvalidArgumentError('It must be a number of seconds of at least 0.');
}

/** For options with a count from `min` to `max`. */
export function count(min: number, max: number = Number.MAX_SAFE_INTEGER): (value: string) => number {
  const rule = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return (value) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number ${rule}.`);
  };
}

/** For options in dollars. */
export function dollars(value: string): number {
  const number = /^\$?\d*\.?\d+$/.test(value) ? Number(value.replace('$', '')) : 0;
  if (number > 0) return number;
  throw new InvalidArgumentError('It must be an amount of dollars above 0.');
}

/** Milliseconds of each unit of a span. */
const spanUnits: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** For options that are a time in the past: a time or a date, or a span before now such as `2h`. @returns ISO 8601. */
export function pastTime(value: string): string {
  return timeOf(value, -1);
}

/** For options that are a time in the future: a time or a date, or a span from now such as `30d`. @returns ISO 8601. */
export function futureTime(value: string): string {
  return timeOf(value, 1);
}

function timeOf(value: string, direction: 1 | -1): string {
  const [, amount, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(value) ?? [];
  if (amount !== undefined)
    return new Date(Date.now() + direction * Number(amount) * (spanUnits[unit] ?? 0)).toISOString();
  const at = Date.parse(value);
  const [, ...date] = /^(\d{4})-(\d\d)-(\d\d)/.exec(value) ?? [];
  const [year = 0, month = 0, day = 0] = date.map(Number);
  if (!Number.isNaN(at) && (date.length === 0 || isDate(year, month, day))) return new Date(at).toISOString();
  const span = direction < 0 ? '2h for two hours ago' : '30d for 30 days from now';
  throw new InvalidArgumentError(
    `It must be a time such as 2026-11-21T09:00:00Z, or a span such as ${span}.`,
  );
}
