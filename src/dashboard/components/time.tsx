import type { JSX } from 'preact';
import { humanDuration, relativeTime } from '../../lib/humanTime.ts';
import { now } from '../live/clock.ts';

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** A time as people say it, by the server's clock; the exact one on hover and for those who listen. */
export function Time({ at, none = '–' }: { at: string | null; none?: string }): JSX.Element {
  if (at === null) return <span class="faint">{none}</span>;
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={absolute.format(ms)}>
      {relativeTime(ms, now.value)}
    </time>
  );
}

/** From a time until another, or until now while it goes on. A clock that is a little off makes no negative span. */
export function Elapsed({ from, to }: { from: string | null; to: string | null }): JSX.Element {
  if (from === null) return <span class="faint">–</span>;
  const end = to === null ? now.value : Date.parse(to);
  return <span class="number">{humanDuration(end - Date.parse(from))}</span>;
}
