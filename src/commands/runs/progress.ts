import type { WireRun } from '../../domain/wire/run.ts';
import { plainLine } from '../../lib/plainText.ts';
import { type Screen, screenControls } from '../../lib/screen.ts';
import { cutToWidth } from '../../lib/textWidth.ts';
import { dollarText } from '../jobText.ts';
import { compactText, countText, endedOf, leftText, spentText } from './runText.ts';

/** Between two lines where they cannot be rewritten. */
const plainEveryMs = 30_000;
const barWidth = 20;

/** What is known at a moment. */
export interface Moment {
  run: WireRun;
  /** Lines of the file; null while they are not counted. */
  lines: number | null;
  /** Lines of the file that were sent; null when none are sent here. */
  sent: number | null;
  /** Why jobs wait; null when none do, or it is not known. */
  waiting: string | null;
}

/** The progress of a run: two lines that are rewritten on a terminal, a line every 30 seconds elsewhere. */
export interface Progress {
  show(moment: Moment): void;
  /** Write a line that stays. */
  say(text: string): void;
  /** Remove the lines, before something else is written. They come back with the next `show`. */
  clear(): void;
}

/** @param env TERM=dumb cannot move its cursor. */
export function createProgress(
  screen: Screen,
  env: NodeJS.ProcessEnv,
  now: () => number = () => performance.now(),
): Progress {
  return screen.isTerminal && env.TERM !== 'dumb' ? new LiveProgress(screen) : new PlainProgress(screen, now);
}

class LiveProgress implements Progress {
  readonly #screen: Screen;
  #lines = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  show(moment: Moment): void {
    const width = this.#screen.width - 1;
    const lines = progressLines(moment, Date.now()).map((line) => cutToWidth(line, width));
    const [first = '', second = ''] = lines;
    const failed = moment.run.counts.failed > 0;
    const { clearLine } = screenControls;
    this.#screen.write(
      `${this.#home()}${clearLine}${this.#screen.paint(failed ? 'yellow' : 'cyan', first)}\n${clearLine}${this.#screen.paint('dim', second)}`,
    );
    this.#lines = 2;
  }

  say(text: string): void {
    this.clear();
    this.#screen.line(text);
  }

  clear(): void {
    if (this.#lines === 0) return;
    this.#screen.write(`${screenControls.clearLine}${this.#home()}${screenControls.clearLine}`);
    this.#lines = 0;
  }

  /** To the first of the lines. */
  #home(): string {
    return this.#lines > 1 ? screenControls.up : '';
  }
}

class PlainProgress implements Progress {
  readonly #screen: Screen;
  readonly #now: () => number;
  #saidAt: number;

  constructor(screen: Screen, now: () => number) {
    this.#screen = screen;
    this.#now = now;
    this.#saidAt = now();
  }

  show(moment: Moment): void {
    if (this.#now() - this.#saidAt < plainEveryMs) return;
    this.#saidAt = this.#now();
    const [first = '', second = ''] = progressLines(moment, Date.now());
    this.#screen.line(`${new Date().toISOString()}  ${first.replace(/^\[.*?\] /, '')} · ${second}`);
  }

  say(text: string): void {
    this.#screen.line(text);
  }

  clear(): void {}
}

/** Two lines: the jobs, then speed, cost and why jobs wait. @param now epoch ms. */
export function progressLines({ run, lines, sent, waiting }: Moment, now: number): [string, string] {
  const { counts } = run;
  const total = Math.max(counts.total, lines ?? 0);
  const ended = endedOf(run);
  const part = total === 0 ? 0 : ended / total;
  const filled = Math.floor(part * barWidth);
  const isSending = sent !== null && (lines === null || sent < lines);
  const states = [
    counts.failed > 0 ? `${countText(counts.failed)} failed` : null,
    counts.cancelled > 0 ? `${countText(counts.cancelled)} cancelled` : null,
    `${countText(counts.running)} running`,
    counts.pending > 0 ? `${countText(counts.pending)} waiting` : null,
    isSending ? `${countText(sent)}${lines === null ? '' : ` of ${countText(lines)}`} sent` : null,
    run.status === 'paused' ? 'paused' : null,
  ];
  const left = leftText(run, now);
  const expected = run.cost_expected_usd;
  const tokens = run.input_tokens + run.output_tokens;
  const facts = [
    `${countText(Math.round(run.rate_per_minute))}/min`,
    left === null ? null : `${left} left`,
    tokens > 0 ? `${compactText(tokens)} tokens` : null,
    `${spentText(run)}${expected === null ? '' : ` of ${dollarText(expected)} expected`}`,
    run.max_cost_usd === null ? null : `limit ${dollarText(run.max_cost_usd)}`,
    run.paused === null ? null : plainLine(run.paused.detail),
    waiting === null || run.paused !== null ? null : plainLine(waiting),
  ];
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}]`;
  const done = `${bar} ${countText(ended)}/${countText(total)} (${Math.floor(part * 100)} %)`;
  return [join([done, ...states]), join(facts)];
}

function join(parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join(' · ');
}
