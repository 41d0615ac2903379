import { styleText } from 'node:util';
import { pino } from 'pino';
import { isFields, parseFields } from './fields.ts';
import { plainLine } from './plainText.ts';

/** Fields with a place of their own; the rest follows as `name=value`. */
const placed: readonly string[] = ['level', 'time', 'msg', 'err'];

/**
 * A line of the JSON log for people: `09:30:12 warn  jobs fill the memory  pending=12`.
 * @param json one record. A text that is not a record is returned as it is, made safe for a terminal.
 */
export function readableLine(json: string, hasColour: boolean): string {
  const record = parseFields(json);
  if (record === null) return plainLine(json);
  const { level, time, msg, err } = record;
  const name = pino.levels.labels[Number(level)] ?? 'info';
  const fields = Object.entries(record)
    .filter(([key]) => !placed.includes(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const error = isFields(err) ? [String(err.stack ?? err.message)] : [];
  const text = [String(msg ?? ''), ...fields].join('  ');
  const head = `${new Date(String(time)).toTimeString().slice(0, 8)} ${name.padEnd(5)}`;
  return [`${paint(head, name, hasColour)} ${plainLine(text)}`, ...error.flatMap(errorLines)].join('\n');
}

function errorLines(stack: string): string[] {
  return stack.split('\n').map((line) => `    ${plainLine(line)}`);
}

function paint(head: string, level: string, hasColour: boolean): string {
  if (!hasColour) return head;
  const colour = level === 'error' || level === 'fatal' ? 'red' : level === 'warn' ? 'yellow' : 'dim';
  return styleText(colour, head, { validateStream: false });
}
