import type { JSX } from 'preact';
import { now } from '../live/clock.ts';
import { countdown } from './countdownText.ts';

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** The time until a moment, updated every second, by the server's clock. */
export function Countdown({ until }: { until: string }): JSX.Element {
  const ms = Date.parse(until);
  return (
    <time class="number" dateTime={until} title={absolute.format(ms)}>
      {countdown(ms, now.value)}
    </time>
  );
}
