import type { Duplex } from 'node:stream';

/**
 * Collect what is written to `raw` in one turn of the event loop and send it in one write: 200 acks then cost one
 * system call.
 * @returns call it before each write.
 */
export function corkUntilTurn(raw: Duplex): () => void {
  let isCorked = false;
  return () => {
    if (isCorked) return;
    isCorked = true;
    raw.cork();
    setImmediate(() => {
      isCorked = false;
      raw.uncork();
    });
  };
}
