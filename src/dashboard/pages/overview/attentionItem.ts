/** A problem that needs a decision, with a link to act on it. */
export interface Attention {
  key: string;
  kind: AttentionKind | 'single';
  tone: 'bad' | 'warn';
  text: string;
  /** What to do. */
  advice: string;
  path: string;
  query?: Record<string, string>;
}

/** Kinds that can occur once for each provider, worker or run. */
export type AttentionKind =
  | 'unserved'
  | 'idle'
  | 'long'
  | 'open'
  | 'limited'
  | 'unhandled'
  | 'aside'
  | 'gone'
  | 'shut'
  | 'run';
