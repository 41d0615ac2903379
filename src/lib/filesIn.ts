import { readdirSync } from 'node:fs';

/** @returns the paths of what is in `folder` and below it, relative and with `/`; none when it cannot be read. */
export function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
      name.replaceAll('\\', '/'),
    );
  } catch {
    return [];
  }
}
