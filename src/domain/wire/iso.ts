/** ISO 8601, UTC, with milliseconds. */
export type Iso = string;

/** The last moment that was shown: a new job shows the one of its creation three times, and formatting costs 0.4 µs. */
let shown = { at: Number.NaN, text: '' };

/** Epoch ms as the wire shows it. */
export function iso(at: number): Iso;
export function iso(at: number | null): Iso | null;
export function iso(at: number | null): Iso | null {
  if (at === null) return null;
  if (at !== shown.at) shown = { at, text: new Date(at).toISOString() };
  return shown.text;
}
