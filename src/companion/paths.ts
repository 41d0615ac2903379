import { homedir } from 'node:os';
import { isAbsolute, join, posix, win32 } from 'node:path';

/** Where the companion keeps its files. */
export interface CompanionPaths {
  home: string;
  /** The settings: a configuration file whose `worker` and `providers` blocks the worker reads. */
  settings: string;
  /** A folder of its own for what changes while it runs. */
  state: string;
}

/** A machine, as far as its paths depend on it; tests pass others. */
export interface Place {
  env: NodeJS.ProcessEnv;
  platform: NodeJS.Platform;
}

/**
 * The paths of this user: `~/.config/svc` and `~/.local/state/svc` or what XDG_CONFIG_HOME and XDG_STATE_HOME name,
 * `~/Library/Application Support/svc` on macOS, APPDATA and LOCALAPPDATA on Windows.
 */
export function companionPaths({ env, platform }: Place): CompanionPaths {
  if (platform === 'win32') {
    const home = env.USERPROFILE ?? homedir();
    const roaming = env.APPDATA ?? win32.join(home, 'AppData', 'Roaming');
    const local = env.LOCALAPPDATA ?? win32.join(home, 'AppData', 'Local');
    return {
      home,
      settings: win32.join(roaming, 'svc', settingsName),
      state: win32.join(local, 'svc', stateName),
    };
  }
  const home = env.HOME ?? homedir();
  if (platform === 'darwin') {
    const folder = posix.join(home, 'Library', 'Application Support', 'svc');
    return { home, settings: posix.join(folder, settingsName), state: posix.join(folder, stateName) };
  }
  return {
    home,
    settings: join(xdg(env.XDG_CONFIG_HOME) ?? join(home, '.config'), 'svc', settingsName),
    state: join(xdg(env.XDG_STATE_HOME) ?? join(home, '.local', 'state'), 'svc', stateName),
  };
}

const settingsName = 'companion.yaml';
const stateName = 'companion';

/** The specification has relative paths ignored: https://specifications.freedesktop.org/basedir-spec/latest/ */
function xdg(path: string | undefined): string | null {
  return path !== undefined && isAbsolute(path) ? path : null;
}
