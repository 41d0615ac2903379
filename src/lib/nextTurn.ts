/** Resolves in the next turn of the event loop: timers and sockets get their share of a long piece of work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const waiting: (() => void)[] = [];

/**
 * As `nextTurn`, but of all that wait here only one goes on in each turn, in the order they came. For work that a request
 * can make long: a hundred searches at once hold up the others no longer in one turn than a single one does.
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
