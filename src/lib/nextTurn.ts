/** Resolves in the next turn of the event loop: timers and sockets get their share of a long piece of work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
