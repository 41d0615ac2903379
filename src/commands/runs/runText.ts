import type { RunStatus } from '../../domain/states.ts';
import type { WireRun, WireRunFailure } from '../../domain/wire/run.ts';
import { humanDuration } from '../../lib/humanTime.ts';
import { plainLine } from '../../lib/plainText.ts';
import type { Colour } from '../../lib/screen.ts';
import { shellWord } from '../../lib/shellWord.ts';
import { dollarText } from '../jobText.ts';

/** A run in words, the same in every command. */

const numbers = new Intl.NumberFormat('en-GB');
const compact = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });

/** `12,345`. */
export function countText(count: number): string {
  return numbers.format(count);
}

/** `12.3K`, for figures that change all the time. */
export function compactText(count: number): string {
  return compact.format(count);
}

export function runColour(status: RunStatus): Colour {
  return ({ running: 'blue', paused: 'yellow', completed: 'green', cancelled: 'dim' } as const)[status];
}

/** Jobs that have ended. */
export function endedOf({ counts }: Pick<WireRun, 'counts'>): number {
  return counts.completed + counts.failed + counts.cancelled;
}

/** `≥ $1.20` where the cost of some attempts is unknown. */
export function spentText({ cost_usd: dollars, unknown_cost_attempts: unknown }: WireRun): string {
  return `${unknown > 0 ? '≥' : ''}${dollarText(dollars)}`;
}

/** How long until its end at the present rate; null when nothing moves. */
export function leftText({ eta }: Pick<WireRun, 'eta'>, now: number): string | null {
  return eta === null ? null : humanDuration(Math.max(0, Date.parse(eta) - now));
}

/** Why a run is paused and how it goes on; null when it is not paused. */
export function pauseLines({ name, paused }: WireRun): string[] {
  if (paused === null) return [];
  const flag = {
    max_cost: ' --max-cost <USD>',
    max_failures: ' --max-failures <N>',
    deadline: ' --deadline <6h>',
    operator: '',
  }[paused.reason];
  return [
    `Run ${name} is paused: ${plainLine(paused.detail)}`,
    `  svc runs resume ${name}${flag} lets it go on; svc runs cancel ${name} ends it.`,
  ];
}

/** One line for each cause of failures, with the command that sends its jobs again. */
export function failureLines({ name, failures }: WireRun): string[] {
  return failures.map((failure) => `  ${failureText(failure)}\n    ${retryText(name, failure)}`);
}

export function failureText({ count, class: kind, code, message }: WireRunFailure): string {
  const cause = code === kind ? kind : `${kind} (${code})`;
  return plainLine(`${countText(count)} × ${cause}: ${message}`);
}

export function retryText(name: string, { class: kind }: WireRunFailure): string {
  return `svc runs retry ${shellWord(name)} --class ${kind}`;
}
