import { unwatchFile, watchFile } from 'node:fs';
import { chmod, mkdir, open, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { isMap, parse, parseDocument } from 'yaml';
import { apiKeyProblem, variable } from '../../config/environment.ts';
import { messageOf } from '../../domain/errors.ts';
import { isFields } from '../../lib/fields.ts';
import { replacedFile } from '../../lib/replacedFile.ts';

/** A file of two short values. */
const bytesMax = 64 * 1024;
/** How often the file is looked at while nobody calls a tool, ms. Every call looks at it too. */
const lookMs = 1_000;
const defaultUrl = 'http://127.0.0.1:7420';

/** Where the coordinator is, and the key to use. */
export interface Settings {
  url: string;
  /** null without one. */
  apiKey: string | null;
  /** Why they cannot be used, for people; null when they can. */
  problem: string | null;
}

/** What the command line or the environment names; it wins over the file. */
export interface FixedSettings {
  url: string | null;
  apiKey: string | null;
}

/** `mcp.yaml` in the folder for settings of this user: XDG_CONFIG_HOME, or ~/.config. */
export function settingsPath(env: NodeJS.ProcessEnv): string {
  const named = variable(env, 'XDG_CONFIG_HOME');
  // The XDG specification has relative paths ignored.
  const base = named !== null && isAbsolute(named) ? named : join(homedir(), '.config');
  return join(base, 'svc', 'mcp.yaml');
}

/** The settings of the bridge, as the file has them now. */
export class BridgeSettings {
  readonly path: string;
  readonly #fixed: FixedSettings;
  #known: { stamp: string; settings: Settings } | null = null;

  constructor(path: string, fixed: FixedSettings) {
    this.path = path;
    this.#fixed = fixed;
  }

  /** Reads the file again when it has changed. Never throws: what is wrong is `problem`. */
  async current(): Promise<Settings> {
    const stamp = await stampOf(this.path);
    if (this.#known?.stamp === stamp) return this.#known.settings;
    const settings = checked(await this.#read());
    this.#known = { stamp, settings };
    return settings;
  }

  /** Whether other users of this machine can read the file. Windows has no such modes. */
  async isOpenToOthers(): Promise<boolean> {
    const found = await stat(this.path).catch(() => null);
    return process.platform !== 'win32' && found !== null && (found.mode & 0o077) !== 0;
  }

  /** Call `onChange` within some 2 s of a change of address or key. @returns ends it. */
  watch(onChange: (settings: Settings) => void): () => void {
    let last = '';
    const look = async (): Promise<void> => {
      const settings = await this.current();
      const text = JSON.stringify(settings);
      if (last !== '' && text !== last) onChange(settings);
      last = text;
    };
    void look();
    // Looks by its name: editors and secret mounts put another file in its place.
    watchFile(this.path, { interval: lookMs, persistent: false }, () => void look());
    return () => unwatchFile(this.path);
  }

  async #read(): Promise<Settings> {
    const { url, apiKey } = this.#fixed;
    const whole = { url: url ?? defaultUrl, apiKey, problem: null };
    if (url !== null && apiKey !== null) return whole;
    try {
      const file = parseSettings(await readBounded(this.path));
      return { url: url ?? file.url ?? defaultUrl, apiKey: apiKey ?? file.apiKey, problem: null };
    } catch (error) {
      if (isMissing(error)) return whole;
      return { ...whole, problem: `${this.path} cannot be used: ${messageOf(error)}` };
    }
  }
}

/** Write address, key or both into the file, which only its owner can read. Other lines and comments stay. */
export async function writeSettings(
  path: string,
  change: Partial<Record<'url' | 'api_key', string>>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const text = await readBounded(path).catch((error: unknown) => {
    if (isMissing(error)) return '';
    throw error;
  });
  const document = parseDocument(text);
  if (document.errors.length > 0 || (document.contents !== null && !isMap(document.contents)))
    throw new Error(`${path} is not YAML with url and api_key; correct or remove it`);
  for (const [name, value] of Object.entries(change)) document.set(name, value);
  // Before the key is in it: a new version of a file keeps its mode.
  if (text !== '') await chmod(path, 0o600);
  const file = await replacedFile(path);
  await file.write(document.toString({ lineWidth: 0 }));
  await file.finish();
}

/** Why an address cannot be used; null when it can. */
export function urlProblem(url: string): string | null {
  const wrong = 'must be an address such as http://127.0.0.1:7420';
  if (!URL.canParse(url)) return wrong;
  const { protocol, username, password, search, hash } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return wrong;
  const isPlain = username === '' && password === '' && search === '' && hash === '';
  return isPlain ? null : `${wrong}, without a user name, a password, ? or #`;
}

/** The first fault makes them unusable; the text names the place and never the key. */
function checked(settings: Settings): Settings {
  const { url, apiKey, problem } = settings;
  if (problem !== null) return settings;
  const wrongUrl = urlProblem(url);
  if (wrongUrl !== null) return { ...settings, problem: `the address of the coordinator (url) ${wrongUrl}` };
  if (apiKey === null) return { ...settings, problem: 'there is no API key' };
  const wrongKey = apiKeyProblem(apiKey);
  return wrongKey === null ? settings : { ...settings, problem: `the API key ${wrongKey}` };
}

function parseSettings(text: string): FixedSettings {
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    // The parser's message quotes the line, which may hold the key.
    throw new Error('it is not YAML');
  }
  if (value === null || value === undefined) return { url: null, apiKey: null };
  if (!isFields(value)) throw new Error('it must have the lines url and api_key');
  return { url: textOf(value.url, 'url'), apiKey: textOf(value.api_key, 'api_key') };
}

function textOf(value: unknown, name: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value.trim();
  throw new Error(`${name} must be a text`);
}

async function readBounded(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(bytesMax + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Changes whenever the file does. */
async function stampOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found === null ? 'none' : `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
