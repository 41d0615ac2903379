/** ISO 8601, UTC, with milliseconds. */
export type Iso = string;

/** The last time formatted: a new job shows its creation three times, and formatting costs 0.4 µs. */
let shown = { at: Number.NaN, text: '' };

/** Epoch ms in the wire's form. */
export function iso(at: number): Iso;
export function iso(at: number | null): Iso | null;
export function iso(at: number | null): Iso | null {
  if (at === null) return null;
  if (at !== shown.at) shown = { at, text: new Date(at).toISOString() };
  return shown.text;
}
