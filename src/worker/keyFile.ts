import { readFileSync } from 'node:fs';
import { messageOf } from '../domain/errors.ts';
import { SettingsError } from './settings.ts';

/** Far more than any key; a larger file is the wrong one. */
const bytesMax = 16 * 1024;

/** The key of a provider cannot be read from its file. The message quotes nothing of the file. */
export class UnusableKeyFile extends SettingsError {
  readonly path: string;

  constructor(provider: string, path: string, why: string) {
    super(`no key for ${provider}: providers.${provider}.api_key_file, ${path}, ${why}`);
    this.path = path;
  }
}

/** The key in a file, without the line end. @throws UnusableKeyFile. */
export function keyInFile(provider: string, path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UnusableKeyFile(provider, path, `cannot be read: ${messageOf(error)}`);
  }
  const key = text.trim();
  if (key === '') throw new UnusableKeyFile(provider, path, 'is empty');
  if (Buffer.byteLength(text) <= bytesMax && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new UnusableKeyFile(provider, path, 'holds no key: one line of printable ASCII without spaces');
}
