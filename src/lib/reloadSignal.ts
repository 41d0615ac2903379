import { closeSync, openSync } from 'node:fs';

/**
 * Call `reload` at every SIGHUP. A terminal that is closed sends one too, and there it means what it always meant: the
 * process is asked to stop, as by SIGTERM.
 */
export function onReloadSignal(reload: () => void): void {
  const hadTerminal = hasTerminal();
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
}

/** Whether the process has a terminal that is still there: a daemon has none, and a closed one cannot be opened. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
