import { plainLine } from './plainText.ts';
import { type Screen, screenControls } from './screen.ts';
import { cutToWidth } from './textWidth.ts';

export interface Spinner {
  /** What stands beside it from now on. */
  say(text: string): void;
  /** Make place for a line of somebody else; it comes back below that. */
  clear(): void;
  /** Take the line away. Nothing is written afterwards, not by another `stop` either. */
  stop(): void;
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 90;
const { clearLine } = screenControls;

/** A line that is alive while something is waited for. On anything but a terminal it writes nothing at all. */
export function startSpinner(screen: Screen, text: string): Spinner {
  if (!screen.isTerminal) return { say: () => {}, clear: () => {}, stop: () => {} };
  let said = text;
  let frame = 0;
  let isStopped = false;
  const draw = (): void => {
    const line = cutToWidth(plainLine(said), screen.width - 3);
    screen.write(`${clearLine}${screen.paint('cyan', frames[frame % frames.length] ?? '')} ${line}`);
    frame++;
  };
  draw();
  // Unref'd: what is waited for keeps the process alive, not its decoration.
  const timer = setInterval(draw, frameMs).unref();
  return {
    say: (next) => {
      said = next;
    },
    clear: () => {
      if (!isStopped) screen.write(clearLine);
    },
    stop: () => {
      if (isStopped) return;
      isStopped = true;
      clearInterval(timer);
      screen.write(clearLine);
    },
  };
}
