const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A duration for people, two units at most: `40 ms`, `2.5 s`, `3 min 20 s`, `5 h 2 min`, `3 d 4 h`. */
export function humanDuration(ms: number): string {
  const span = Math.max(0, ms);
  if (span < 1000) return `${Math.round(span)} ms`;
  // 59,950 ms and more would round up to 60.0 s.
  if (span < 59_950) return `${(span / 1000).toFixed(1)} s`;
  const seconds = Math.round(span / 1000) * 1000;
  if (seconds < hour) return twoUnits(seconds, minute, 'min', 1000, 's');
  const minutes = Math.round(span / minute) * minute;
  if (minutes < day) return twoUnits(minutes, hour, 'h', minute, 'min');
  return twoUnits(Math.round(span / hour) * hour, day, 'd', hour, 'h');
}

function twoUnits(span: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((span % large) / small);
  const first = `${Math.floor(span / large)} ${largeName}`;
  return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

/** How long ago, or how soon: `just now`, `12 s ago`, `in 5 min`. One unit: it is for a glance. */
export function relativeTime(at: number, now: number): string {
  const span = Math.abs(now - at);
  if (span < 1000) return 'just now';
  const text = oneUnit(span);
  return at <= now ? `${text} ago` : `in ${text}`;
}

function oneUnit(span: number): string {
  if (span < minute) return `${Math.floor(span / 1000)} s`;
  if (span < hour) return `${Math.floor(span / minute)} min`;
  return span < 2 * day ? `${Math.floor(span / hour)} h` : `${Math.floor(span / day)} d`;
}
