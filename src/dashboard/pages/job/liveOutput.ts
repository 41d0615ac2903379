import type { JobOutput, JobProgress } from '../../../domain/liveProtocol.ts';

/** The output of a running attempt so far, combined from a snapshot and the chunks after it. */
export interface OutputText {
  lease: number;
  seq: number;
  text: string;
  /** The start is missing. */
  isTruncated: boolean;
}

/** Characters kept: enough to read, few enough to render ten times a second. */
export const outputMax = 200_000;

export function ofSnapshot(output: JobOutput | null): OutputText | null {
  if (output === null) return null;
  const { lease, seq, text, truncated } = output;
  return cut({ lease, seq, text, isTruncated: truncated });
}

/** Add a chunk. One of a new lease starts over; a known one, or one of an older lease, changes nothing. */
export function withChunk(before: OutputText | null, { lease, seq, text }: JobProgress): OutputText | null {
  if (before !== null && lease < before.lease) return before;
  if (before === null || lease > before.lease) return { lease, seq, text, isTruncated: seq > 1 };
  if (seq <= before.seq) return before;
  return cut({ ...before, seq, text: before.text + text });
}

function cut(output: OutputText): OutputText {
  const { text } = output;
  if (text.length <= outputMax) return output;
  return { ...output, text: text.slice(text.length - outputMax), isTruncated: true };
}
