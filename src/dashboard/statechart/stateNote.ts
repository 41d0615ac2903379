/** Information about a state in addition to its machine. */
export interface StateNote {
  /** Below its name: `12`, `3 times, 1.4 s`. */
  figures: string;
  /** The same for screen readers. */
  spoken: string;
  /** Whether it has or had actors: it is tinted. */
  isUsed: boolean;
}
