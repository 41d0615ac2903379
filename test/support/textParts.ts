import type { ChunkPart } from '../../src/domain/chunkParts.ts';

/** A chunk that is text alone. */
export function textParts(text: string): ChunkPart[] {
  return [{ type: 'text', text }];
}
