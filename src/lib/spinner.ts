import { plainLine } from './plainText.ts';
import { type Screen, screenControls } from './screen.ts';
import { cutToWidth } from './textWidth.ts';

export interface Spinner {
  /** Replace its text. */
  say(text: string): void;
  /** Clear it to make room for another line; it reappears below that. */
  clear(): void;
  /** Remove the line. Nothing is written afterwards, not even by another `stop`. */
  stop(): void;
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 90;
const { clearLine } = screenControls;

/** An animated line while something runs. Writes nothing unless the screen is a terminal. */
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
  // Unref'd: the work keeps the process alive, not its decoration.
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
