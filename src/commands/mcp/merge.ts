import { fieldsOf, isFields, parseFields } from '../../lib/fields.ts';
import type { ClientFile, Entry } from './clients.ts';

/** The name of the entry in every client. */
const serverName = 'svc';

/** The text of the entry alone, as in the file. */
export function entryText(file: ClientFile, entry: Entry): string {
  return file.format === 'toml'
    ? tomlTable(file, entry)
    : `${json({ [file.servers]: { [serverName]: jsonEntry(file, entry) } })}\n`;
}

/**
 * The text of the settings with the entry in them; the rest stays.
 * @returns null when it is not understood: comments in JSON, for example.
 */
export function withEntry(text: string, file: ClientFile, entry: Entry): string | null {
  return file.format === 'toml' ? withTable(text, file, entry) : withMember(text, file, entry);
}

function withMember(text: string, file: ClientFile, entry: Entry): string | null {
  const settings = text.trim() === '' ? {} : parseFields(text.replace(/^\ufeff/, ''));
  if (settings === null) return null;
  const servers = settings[file.servers] ?? {};
  if (!isFields(servers)) return null;
  // What somebody added to the entry stays, such as tools that need no question.
  const changedEntry = { ...fieldsOf(servers[serverName]), ...jsonEntry(file, entry) };
  const changed = { ...settings, [file.servers]: { ...servers, [serverName]: changedEntry } };
  return `${json(changed, indentOf(text))}\n`;
}

function jsonEntry({ more }: ClientFile, { command, args, env }: Entry): Record<string, unknown> {
  return { ...more, command, args, ...(Object.keys(env).length === 0 ? {} : { env }) };
}

function json(value: unknown, indent: string | number = 2): string {
  return JSON.stringify(value, null, indent);
}

function indentOf(text: string): string {
  return /^\{\r?\n([ \t]+)"/.exec(text)?.[1] ?? '  ';
}

/** A table begins with its name and ends where another begins: the entry can be replaced without a parser of TOML. */
function withTable(text: string, file: ClientFile, entry: Entry): string | null {
  // An inline table, or a name in quotes, says the same in another way.
  const otherForm = new RegExp(`^\\s*(${file.servers}\\s*=|\\[${file.servers}\\.["'])`, 'm');
  if (otherForm.test(text)) return null;
  // What somebody added to the entry stays, unless it has the same name as ours.
  const env = Object.keys(entry.env).length === 0 ? '' : '(\\.env)?';
  const ours = new RegExp(`^\\s*\\[${file.servers}\\.${serverName}${env}\\]`);
  const kept: string[] = [];
  let isOurs = false;
  for (const line of text.split('\n')) {
    if (/^\s*\[/.test(line)) isOurs = ours.test(line);
    if (!isOurs) kept.push(line);
  }
  const rest = kept.join('\n').trimEnd();
  return `${rest === '' ? '' : `${rest}\n\n`}${tomlTable(file, entry)}`;
}

function tomlTable({ servers }: ClientFile, { command, args, env }: Entry): string {
  // A basic string of TOML takes what a string of JSON takes.
  const lines = [
    `[${servers}.${serverName}]`,
    `command = ${JSON.stringify(command)}`,
    `args = [${args.map((arg) => JSON.stringify(arg)).join(', ')}]`,
    // Its tools wait up to 50 s, and the bridge up to 9 s for a coordinator that restarts.
    'tool_timeout_sec = 60',
  ];
  const variables = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const table = variables.length === 0 ? [] : ['', `[${servers}.${serverName}.env]`, ...variables];
  return `${[...lines, ...table].join('\n')}\n`;
}
