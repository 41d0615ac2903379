import { isDeepStrictEqual } from 'node:util';
import { type Fields, fieldsOf, isFields } from '../../lib/fields.ts';
import type { ClientFile, Entry } from './clients.ts';
import { readJson, setInJson } from './jsonSettings.ts';
import { readToml, setInToml, tableText } from './tomlSettings.ts';

/** The name of the entry in every client. */
const serverName = 'svc';

/** The text of settings with the entry, or why it is left to a person: a clause about the file. */
export type Change = { kind: 'changed'; text: string } | { kind: 'refused'; why: string };

/** Settings in one format. */
interface Format {
  name: string;
  /** null when the text is not valid. */
  read(text: string): Fields | null;
  /** The text with another value at `path`, and nothing else changed; null when it has no place for it. */
  set(text: string, path: readonly string[], value: unknown): string | null;
}

const formats: Record<ClientFile['format'], Format> = {
  json: { name: 'JSON', read: readJson, set: setInJson },
  toml: { name: 'TOML', read: readToml, set: setInToml },
};

/** The text of the entry alone, as in the file. */
export function entryText(file: ClientFile, entry: Entry): string {
  const settings = { [serverName]: entryWith({}, file, entry) };
  return file.format === 'toml'
    ? tableText([file.servers], settings)
    : `${JSON.stringify({ [file.servers]: settings }, null, 2)}\n`;
}

/**
 * Put the entry into the text of settings. All else keeps its value and its text, also what somebody added to the entry.
 * The result is read again: unless it says just that, the change is refused.
 */
export function withEntry(text: string, file: ClientFile, entry: Entry): Change {
  const { name, read, set } = formats[file.format];
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const old = text.slice(mark.length);
  const before = read(old);
  if (before === null) return refused(`is not valid ${name}`);
  const servers = before[file.servers] ?? {};
  const former = fieldsOf(servers)[serverName] ?? {};
  if (!isFields(servers) || !isFields(former)) return refused(otherForm);
  // A client takes a command or an address: with both, Codex refuses the file.
  if ('url' in former) return refused(`has an entry ${serverName} that connects by HTTP`);
  const after = {
    ...before,
    [file.servers]: { ...servers, [serverName]: entryWith(former, file, entry) },
  };
  let changed: string | null = old;
  for (const { path, value } of differences(before, after))
    changed = changed === null ? null : set(changed, path, value);
  if (changed === null || !isDeepStrictEqual(read(changed), after)) return refused(otherForm);
  return { kind: 'changed', text: `${mark}${changed}` };
}

const otherForm = `has its entry ${serverName} or its list of servers in a form that this command does not change`;

function refused(why: string): Change {
  return { kind: 'refused', why };
}

/** The entry as it will be. @param former what it has so far. */
function entryWith(former: Fields, { more, defaults }: ClientFile, { command, args, env }: Entry): Fields {
  const own = { ...more, command, args };
  const variables = Object.keys(env).length === 0 ? {} : { env: { ...fieldsOf(former.env), ...env } };
  return { ...own, ...defaults, ...former, ...own, ...variables };
}

/** The values of `after` that `before` does not have, each as deep as possible. */
function differences(
  before: Fields,
  after: Fields,
  path: readonly string[] = [],
): { path: string[]; value: unknown }[] {
  return Object.entries(after).flatMap(([name, value]) => {
    const former = before[name];
    if (isDeepStrictEqual(former, value)) return [];
    if (isFields(former) && isFields(value)) return differences(former, value, [...path, name]);
    return [{ path: [...path, name], value }];
  });
}
