/**
 * A terminal sends Ctrl-C to npm and to the process below it, and npm passes it on: one key stroke can arrive twice.
 * Only a SIGINT after this time is a second one. SIGTERM is sent by programs, and every one counts.
 */
const sameKeyMs = 500;

/**
 * Call `stop` at the first SIGTERM or SIGINT; a second one ends the process at once, with 128 plus the signal's number
 * as in shells.
 * @param options.hangup SIGHUP stops too: a closing terminal sends it, perhaps repeatedly, and none counts as a second
 * signal.
 */
export function onStopSignal(stop: () => void, { hangup = false } = {}): void {
  let firstAt: number | null = null;
  const onSignal = (signal: NodeJS.Signals, number: number): void => {
    const now = performance.now();
    if (firstAt === null) {
      firstAt = now;
      stop();
    } else if (signal === 'SIGHUP') {
      return;
    } else if (signal !== 'SIGINT' || now - firstAt >= sameKeyMs) {
      process.exit(128 + number);
    }
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  if (hangup) process.on('SIGHUP', onSignal);
}
