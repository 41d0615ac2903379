import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root: string = join(import.meta.dirname, '../..');

/** @param name path from the clone's folder. */
export const page = (name: string): string => readFileSync(join(root, name), 'utf8');

/** A fenced block of a page, or a heading. */
export interface Block {
  /** Its language; null for a heading. */
  kind: string | null;
  text: string;
  /** The comment right above it, which readers do not see: what a test has to know. */
  mark: string | null;
}

/** The fenced blocks of a page in their order, and its headings: what follows one belongs to another section. */
export function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^(?:<!-- (.*) -->\n)?```(\w*)\n([\s\S]*?)^```|^#/gm)].map(
    ([, mark, kind, block]) => ({ kind: kind ?? null, text: block ?? '', mark: mark ?? null }),
  );
}
