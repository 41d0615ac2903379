import { lstat, mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, posix, win32 } from 'node:path';
import type { Place } from './paths.ts';

/** What makes the companion start when its user logs in. */
export interface LoginEntry {
  path: string;
  text: string;
  /** A link to it that switches it on; null where the file does. */
  link: string | null;
  /** What the user may want to know. */
  remark: string;
}

/** The program and the arguments that start the companion without a window. */
export type LoginCommand = readonly string[];

/** @returns null for a system without a known way. @param home of the user. */
export function loginEntry({ env, platform }: Place, home: string, command: LoginCommand): LoginEntry | null {
  if (platform === 'linux') return systemdEntry(env, home, command);
  if (platform === 'darwin') return launchdEntry(home, command);
  if (platform === 'win32') return windowsEntry(env, home, command);
  return null;
}

/** Write the entry. @throws as node:fs does. */
export async function install({ path, text, link }: LoginEntry): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { mode: 0o644 });
  if (link === null) return;
  await mkdir(dirname(link), { recursive: true });
  await rm(link, { force: true });
  await symlink(path, link);
}

/** Remove the entry. @returns the files that were there. @throws as node:fs does. */
export async function uninstall({ path, link }: LoginEntry): Promise<string[]> {
  const removed: string[] = [];
  for (const file of [link, path]) {
    if (file === null) continue;
    const isThere = await lstat(file).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    await rm(file);
    removed.push(file);
  }
  return removed;
}

export function isInstalled({ path }: LoginEntry): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * A unit of the user's own systemd. `KillMode=mixed`: the companion alone gets SIGTERM and drains its worker; 60 s are
 * more than the 30 s that running jobs have then.
 */
function systemdEntry(env: NodeJS.ProcessEnv, home: string, command: LoginCommand): LoginEntry {
  const config = env.XDG_CONFIG_HOME?.startsWith('/') === true ? env.XDG_CONFIG_HOME : join(home, '.config');
  const folder = join(config, 'systemd', 'user');
  const name = 'svc-companion.service';
  return {
    path: join(folder, name),
    link: join(folder, 'default.target.wants', name),
    remark:
      'It starts with your next login. To start it without one, at boot, run: sudo loginctl enable-linger "$USER"',
    text: `[Unit]
Description=SVC companion: a worker of a job coordinator, and its page

[Service]
ExecStart=${command.map(systemdWord).join(' ')}
Restart=on-failure
RestartSec=5
KillMode=mixed
TimeoutStopSec=60
NoNewPrivileges=true

[Install]
WantedBy=default.target
`,
  };
}

/** https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#Command%20lines */
function systemdWord(word: string): string {
  const escaped = word
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('%', '%%')
    .replaceAll('$', '$$$$');
  return `"${escaped}"`;
}

/** `SuccessfulExit` false: restarted after a crash, and not after `svc companion stop`. `ExitTimeOut`: as for systemd. */
function launchdEntry(home: string, command: LoginCommand): LoginEntry {
  const label = 'svc.companion';
  const words = command.map((word) => `    <string>${xmlText(word)}</string>`).join('\n');
  return {
    path: posix.join(home, 'Library', 'LaunchAgents', `${label}.plist`),
    link: null,
    remark: 'It starts with your next login.',
    text: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${label}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>60</integer>
</dict>
</plist>
`,
  };
}

function xmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A file in the start-up folder; `start /min` lets its own window close at once. */
function windowsEntry(env: NodeJS.ProcessEnv, home: string, command: LoginCommand): LoginEntry {
  const roaming = env.APPDATA ?? win32.join(home, 'AppData', 'Roaming');
  const folder = win32.join(roaming, 'Microsoft', 'Windows', 'Start Menu', 'Programs', 'Startup');
  const words = command.map((word) => `"${word.replaceAll('%', '%%')}"`).join(' ');
  return {
    path: win32.join(folder, 'svc-companion.cmd'),
    link: null,
    remark: 'It starts with your next login.',
    text: `@echo off\r\nstart "SVC companion" /min ${words}\r\n`,
  };
}
