import { chmod, mkdir, open, readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { changedConfigText } from '../config/edit.ts';
import { ConfigError, loadConfig } from '../config/load.ts';
import { replacedFile } from '../lib/replacedFile.ts';

/** The settings of the companion, resolved. */
export interface CompanionSettings {
  coordinator: string;
  /** null: not set yet. */
  apiKey: string | null;
  name: string;
  concurrency: number;
  providers: readonly string[];
  /** Addresses of providers that are not at their usual place. */
  addresses: Readonly<Record<string, string>>;
}

/** New values by their key in the file; null removes the key, so that its default applies. */
export type SettingsChange = Readonly<Record<string, string | number | readonly string[] | null>>;

const coordinatorDefault = 'http://127.0.0.1:7420';
/** Far more than any settings. */
const bytesMax = 256 * 1024;

const firstText = `# Settings of svc companion. It follows changes to this file. It has the worker and providers
# blocks of svc.config.yaml, which docs/configuration.md describes.
worker: {}
`;

/**
 * Create the file where there is none, and make it readable by its owner alone: it holds a key.
 * @returns whether others could read it. @throws as node:fs does.
 */
export async function prepareSettings(path: string): Promise<{ wasOpen: boolean }> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(firstText).finally(() => file.close());
    return { wasOpen: false };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  // Windows has no such bits; the folder is the user's own there.
  if (process.platform === 'win32') return { wasOpen: false };
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0) return { wasOpen: false };
  await chmod(path, 0o600);
  return { wasOpen: true };
}

/** @throws ConfigError with every problem. */
export async function readSettings(path: string): Promise<CompanionSettings> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > bytesMax) throw problem(path, `is larger than ${bytesMax} bytes`);
  const { config } = await loadConfig({ file: path, env: {}, cwd: dirname(path) });
  const { worker, providers } = config;
  const addresses = Object.entries(providers).flatMap(([name, { baseUrl }]) =>
    baseUrl === null ? [] : [[name, baseUrl] as const],
  );
  return {
    coordinator: worker.coordinator ?? coordinatorDefault,
    apiKey: worker.apiKey,
    name: worker.name ?? hostname(),
    concurrency: worker.concurrency ?? 1,
    providers: [...new Set(worker.providers)],
    addresses: Object.fromEntries(addresses),
  };
}

/**
 * Change values in the file; comments and other keys stay.
 * @throws ConfigError when the file is invalid before or after; it is unchanged then.
 */
export async function changeSettings(path: string, change: SettingsChange): Promise<void> {
  await prepareSettings(path);
  let text = await readFile(path, 'utf8');
  for (const [key, value] of Object.entries(change)) {
    // JSON is YAML, and a text in it is never taken for a number.
    text = changedConfigText(text, path, key, value === null ? null : JSON.stringify(value));
  }
  // Not the file itself where the path is a link to it.
  const file = await replacedFile(path);
  try {
    await file.write(text);
    await file.finish();
  } catch (error) {
    await file.discard();
    throw error;
  }
}

function problem(source: string, message: string): ConfigError {
  return new ConfigError([{ source, line: null, path: '', message }]);
}
