import { styleText } from 'node:util';

/** The part of a stream that a screen needs: process.stdout and process.stderr have it. */
export interface TextStream {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  rows?: number | undefined;
}

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan';

/** A stream for people: its width and whether it has colours. */
export interface Screen {
  readonly isTerminal: boolean;
  /** Columns now; Infinity where there is no terminal. */
  readonly width: number;
  readonly height: number;
  write(text: string): void;
  /** Write one line. */
  line(text?: string): void;
  lines(texts: readonly string[]): void;
  /** The text in this colour; unchanged where colours are off. */
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
    // The decision about colours is made above; styleText would check process.stdout and FORCE_COLOR again.
    paint: (colour, text) => (hasColour ? styleText(colour, text, { validateStream: false }) : text),
  };
}

const sequence = '\u001b[';

/** Move the cursor and clear. Only for terminals. */
export const screenControls = {
  /** To the start of the line, and clear it. */
  clearLine: `\r${sequence}K`,
  /** To the line above. */
  up: `${sequence}A`,
  /** Another page, without cursor; `leave` restores the old one. */
  enter: `${sequence}?1049h${sequence}?25l`,
  leave: `${sequence}?25h${sequence}?1049l`,
  home: `${sequence}H`,
  clearRest: `${sequence}K`,
  clearBelow: `${sequence}K${sequence}J`,
} as const;
