import { slotsMax } from '../../../domain/limits.ts';
import type { WireKeyBounds } from '../../../domain/wire/key.ts';

/** The bounds of a worker key as typed: names separated by commas, an empty text for no bound. */
export interface BoundTexts {
  names: string;
  tags: string;
  providers: string;
  slots: string;
}

export const noBounds: BoundTexts = { names: '', tags: '', providers: '', slots: '' };

/** Allows no tags at all, which an empty text cannot express. */
const noTags = '-';

export function textsOf({ name_patterns, tags, providers, max_concurrency }: WireKeyBounds): BoundTexts {
  return {
    names: (name_patterns ?? []).join(', '),
    tags: tags?.length === 0 ? noTags : (tags ?? []).join(', '),
    providers: (providers ?? []).join(', '),
    slots: max_concurrency === null ? '' : String(max_concurrency),
  };
}

/** @returns the bounds, or a sentence about what is wrong with the input. */
export function boundsOf({ names, tags, providers, slots }: BoundTexts): WireKeyBounds | string {
  const count = Number(slots.trim());
  if (slots.trim() !== '' && !(Number.isInteger(count) && count >= 0 && count <= slotsMax)) {
    return `The slots must be a whole number from 0 to ${slotsMax}, or empty.`;
  }
  return {
    name_patterns: listOf(names),
    tags: tags.trim() === noTags ? [] : listOf(tags),
    providers: listOf(providers),
    max_concurrency: slots.trim() === '' ? null : count,
  };
}

function listOf(text: string): string[] | null {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  return items.length === 0 ? null : items;
}

/** The bounds of a key in a few words; null when it has none. */
export function boundsText({
  name_patterns,
  tags,
  providers,
  max_concurrency,
}: WireKeyBounds): string | null {
  const parts = [
    name_patterns === null ? null : name_patterns.join(', '),
    tags === null ? null : tags.length === 0 ? 'no tags' : `tags ${tags.join(', ')}`,
    providers === null ? null : providers.join(', '),
    max_concurrency === null ? null : `${max_concurrency} slots`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join('; ');
}
