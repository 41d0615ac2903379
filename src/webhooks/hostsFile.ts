import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const file =
  process.platform === 'win32'
    ? join(process.env.SystemRoot ?? 'C:\\Windows', 'System32\\drivers\\etc\\hosts')
    : '/etc/hosts';

/** Whether the hosts file of this machine has a name, so that no name server is asked for it; it is read each time. */
export async function isInHostsFile(hostname: string): Promise<boolean> {
  return hasHost(await readFile(file, 'utf8').catch(() => ''), hostname);
}

/** @param text of a hosts file. */
export function hasHost(text: string, hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  const lower = text.toLowerCase();
  // Lists of blocked hosts have a million lines.
  if (!lower.includes(name)) return false;
  return lower.split('\n').some((line) => {
    const [entry = ''] = line.split('#');
    return entry.trim().split(/\s+/).slice(1).includes(name);
  });
}
