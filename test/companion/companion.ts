import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Contact } from '../../src/companion/instance.ts';
import { readContact } from '../../src/companion/instance.ts';
import type { CompanionState } from '../../src/companion/state.ts';
import { type Owner, temporaryFolder } from '../support/folder.ts';
import { SvcProcess, until } from '../support/process.ts';

/** A user's home folder, with what the companion keeps there. */
export interface Home {
  folder: string;
  settings: string;
  state: string;
  /** The environment of that user: nothing of ours, and no browser. */
  env: Record<string, string>;
}

export function emptyHome(t: Owner): Home {
  const folder = temporaryFolder(t);
  return {
    folder,
    settings: join(folder, '.config', 'svc', 'companion.yaml'),
    state: join(folder, '.local', 'state', 'svc', 'companion'),
    env: { HOME: folder, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '' },
  };
}

/** Write the settings as a user does in an editor. */
export function writeSettings({ settings }: Home, worker: object, more: object = {}): void {
  mkdirSync(dirname(settings), { recursive: true });
  writeFileSync(settings, JSON.stringify({ worker, ...more }), { mode: 0o600 });
}

/** A running `svc companion --no-open`. */
export interface RunningCompanion {
  process: SvcProcess;
  /** The link that it printed. */
  link: string;
  contact: Contact;
  /** Two seconds; on a machine so busy that its own start took longer than one, twice that. */
  soonMs: number;
  /** Its state when it is as it should be. */
  until(what: string, isSo: (state: CompanionState) => boolean, timeoutMs?: number): Promise<CompanionState>;
  act(action: string, body?: object): Promise<Response>;
}

/** Start it; it is stopped, or killed with its worker, when the test ends. */
export async function startCompanion(
  t: Owner,
  home: Home,
  args: readonly string[] = [],
): Promise<RunningCompanion> {
  const beganAt = performance.now();
  const svc = new SvcProcess(['companion', '--no-open', ...args], { cwd: home.folder, env: home.env });
  t.teardown(async () => {
    if (svc.exit !== null) return;
    const pid = await workerPid(home).catch(() => null);
    await svc.kill();
    if (pid !== null) end(pid);
  });
  const [link] = await svc.says(/http:\S+ticket=\S+/);
  const contact = await until('it can be found', () => readContact(home.state));
  const soonMs = Math.max(2_000, 2 * (performance.now() - beganAt));
  const act = (action: string, body: object = {}): Promise<Response> =>
    fetch(`${contact.url}api/${action}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${contact.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  return {
    process: svc,
    link,
    contact,
    soonMs,
    act,
    until: async (what, isSo, timeoutMs) => {
      let seen: CompanionState | null = null;
      return until(
        () => `${what}: ${JSON.stringify(seen)}`,
        async () => {
          seen = await stateOf(contact);
          return isSo(seen) ? seen : null;
        },
        timeoutMs,
      );
    },
  };
}

async function stateOf({ url, token }: Contact): Promise<CompanionState> {
  const response = await fetch(`${url}api/state`, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as CompanionState;
}

/** Whether a process lives. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export function settingsText({ settings }: Home): string {
  return readFileSync(settings, 'utf8');
}

async function workerPid({ state }: Home): Promise<number | null> {
  const contact = await readContact(state);
  return contact === null ? null : (await stateOf(contact)).worker.pid;
}

/** A worker whose companion was killed drains by itself; a test does not wait for it. */
function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It was faster.
  }
}
