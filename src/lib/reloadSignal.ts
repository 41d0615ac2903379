import { closeSync, openSync } from 'node:fs';

/**
 * Call `reload` at every SIGHUP. A closing terminal sends one too, with its traditional meaning: stop, as with SIGTERM.
 */
export function onReloadSignal(reload: () => void): void {
  const hadTerminal = hasTerminal();
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
}

/** Whether the process has a terminal that still exists: a daemon has none, and a closed one cannot be opened. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
