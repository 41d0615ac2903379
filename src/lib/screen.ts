import { styleText } from 'node:util';

/** The part of a stream that a screen needs: process.stdout and process.stderr have it. */
export interface TextStream {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  rows?: number | undefined;
}

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan';

/** A stream as a place for people: how wide it is and whether it has colours. */
export interface Screen {
  readonly isTerminal: boolean;
  /** Columns now; Infinity where there is no terminal. */
  readonly width: number;
  readonly height: number;
  write(text: string): void;
  /** Write one line. */
  line(text?: string): void;
  lines(texts: readonly string[]): void;
  /** The text in this colour; as it is where colours are not wanted. */
  paint(colour: Colour, text: string): string;
}

/** Size of a terminal that reports none; some pseudo-terminals report 0. */
const widthDefault = 80;
const heightDefault = 24;

/** @param env NO_COLOR (no-color.org) and TERM=dumb turn colours off. */
export function createScreen(stream: TextStream, env: NodeJS.ProcessEnv): Screen {
  const isTerminal = stream.isTTY === true;
  const hasColour = isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  return {
    isTerminal,
    get width() {
      return isTerminal ? stream.columns || widthDefault : Number.POSITIVE_INFINITY;
    },
    get height() {
      return stream.rows || heightDefault;
    },
    write: (text) => void stream.write(text),
    line: (text = '') => void stream.write(`${text}\n`),
    lines: (texts) => void stream.write(texts.map((text) => `${text}\n`).join('')),
    // Whether to colour was decided above; styleText would ask process.stdout and FORCE_COLOR again.
    paint: (colour, text) => (hasColour ? styleText(colour, text, { validateStream: false }) : text),
  };
}

const sequence = '\u001b[';

/** What moves the cursor and clears. Only for screens that are terminals. */
export const screenControls = {
  /** To the begin of the line, and clear it. */
  clearLine: `\r${sequence}K`,
  /** Another page, without cursor; `leave` brings the old one back as it was. */
  enter: `${sequence}?1049h${sequence}?25l`,
  leave: `${sequence}?25h${sequence}?1049l`,
  home: `${sequence}H`,
  clearRest: `${sequence}K`,
  clearBelow: `${sequence}K${sequence}J`,
} as const;
