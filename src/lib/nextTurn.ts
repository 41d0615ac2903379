/** Resolves in the next turn of the event loop: timers and sockets get their share during long work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const waiting: (() => void)[] = [];

/**
 * As `nextTurn`, but each turn continues only one of all callers, in order. For work that a request can make long: a
 * hundred searches at once then block others no longer per turn than one does.
 */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(release);
  });
}

function release(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(release);
}
