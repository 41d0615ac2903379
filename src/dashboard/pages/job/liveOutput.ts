import { type ChunkPart, joinedParts, lengthOfPart } from '../../../domain/chunkParts.ts';
import type { JobOutput, JobProgress } from '../../../domain/liveProtocol.ts';

/** The output of a running attempt so far, combined from a snapshot and the chunks after it. */
export interface OutputSoFar {
  lease: number;
  seq: number;
  parts: readonly ChunkPart[];
  /** The start is missing. */
  isTruncated: boolean;
}

/** Characters and parts kept: enough to read, few enough to render ten times a second. */
export const outputMax = 200_000;
const partsMax = 500;

export function ofSnapshot(output: JobOutput | null): OutputSoFar | null {
  if (output === null) return null;
  const { lease, seq, truncated } = output;
  return cut({ lease, seq, parts: partsOf(output), isTruncated: truncated });
}

/** Add a chunk. One of a new lease starts over; a known one, or one of an older lease, changes nothing. */
export function withChunk(before: OutputSoFar | null, chunk: JobProgress): OutputSoFar | null {
  const { lease, seq } = chunk;
  const parts = partsOf(chunk);
  if (before !== null && lease < before.lease) return before;
  if (before === null || lease > before.lease) return { lease, seq, parts, isTruncated: seq > 1 };
  if (seq <= before.seq) return before;
  return cut({ ...before, seq, parts: joinedParts([...before.parts, ...parts]) });
}

function partsOf({ text, parts }: JobProgress | JobOutput): readonly ChunkPart[] {
  return parts ?? (text === '' ? [] : [{ type: 'text', text }]);
}

/** The end of it, if it is too long. */
function cut(output: OutputSoFar): OutputSoFar {
  const kept: ChunkPart[] = [];
  let room = outputMax;
  for (const part of output.parts.toReversed()) {
    const length = lengthOfPart(part);
    if (length > room || kept.length === partsMax) {
      if (part.type !== 'tool_call' && room > 0) kept.unshift({ ...part, text: part.text.slice(-room) });
      return { ...output, parts: kept, isTruncated: true };
    }
    kept.unshift(part);
    room -= length;
  }
  return output;
}
