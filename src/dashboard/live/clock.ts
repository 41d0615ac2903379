import { type ReadonlySignal, signal } from '@preact/signals';
import { feed } from './browserFeed.ts';

const tick = signal(Date.now());
/** Epoch ms by the server's clock, updated every second while the page is visible: all ages on the page use it. */
export const now: ReadonlySignal<number> = tick;

/** Keep `now` updated. @returns a function that stops it. */
export function startClock(): () => void {
  const move = (): void => {
    if (!document.hidden) tick.value = Date.now() + feed.offsetMs.peek();
  };
  move();
  const timer = setInterval(move, 1000);
  const unwatch = feed.offsetMs.subscribe(move);
  document.addEventListener('visibilitychange', move);
  return () => {
    clearInterval(timer);
    unwatch();
    document.removeEventListener('visibilitychange', move);
  };
}
