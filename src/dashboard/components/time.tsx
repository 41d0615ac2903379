import type { JSX } from 'preact';
import { humanDuration, relativeTime } from '../../lib/humanTime.ts';
import { now } from '../live/clock.ts';

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** A relative time by the server's clock; the exact one on hover and for screen readers. */
export function Time({ at, none = '–' }: { at: string | null; none?: string }): JSX.Element {
  if (at === null) return <span class="faint">{none}</span>;
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={absolute.format(ms)}>
      {relativeTime(ms, now.value)}
    </time>
  );
}

/**
 * The duration between two times, or until now while it lasts. A clock that is slightly off never makes it negative.
 */
export function Elapsed({ from, to }: { from: string | null; to: string | null }): JSX.Element {
  if (from === null) return <span class="faint">–</span>;
  const end = to === null ? now.value : Date.parse(to);
  return <span class="number">{humanDuration(end - Date.parse(from))}</span>;
}
