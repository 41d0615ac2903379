import { array, number, string } from 'yup';
import { nameLengthMax, slotsMax } from '../../../domain/limits.ts';
import type { WireKeyBounds } from '../../../domain/wire/key.ts';
import { boundedList } from '../../../lib/boundedList.ts';
import { shapeOf } from '../../shape/fromYup.ts';
import { type Members, named } from '../../shape/shape.ts';

/** Names that one bound of a key may have. */
const namesMax = 100;
const names = (min: number, description: string) =>
  boundedList(namesMax, array().of(string().defined().min(1).max(nameLengthMax)).min(min).nullable(), {
    description,
  });

const namePatterns = names(
  1,
  'For the role `worker`. Its workers have names like one of them; `*` stands for any text. null for any name.',
);
// None: its workers may have no tags.
const tags = names(0, 'For the role `worker`. Its workers have only these tags. null for any tags.');
const providers = names(
  1,
  'For the role `worker`. Its workers serve only these providers. null for any provider.',
);
const maxConcurrency = number().integer().min(0).max(slotsMax).nullable().meta({
  description:
    'For the role `worker`. Slots of all its connected workers together, in the order in which they connected. null: each has at most 1,000, or as many as an operator gives it.',
});

/** The same in answers. */
export const boundsMembers: Members<WireKeyBounds> = {
  name_patterns: named('NamePatterns', shapeOf<string[] | null>(namePatterns)),
  tags: named('AllowedTags', shapeOf<string[] | null>(tags)),
  providers: named('AllowedProviders', shapeOf<string[] | null>(providers)),
  max_concurrency: named('MaxConcurrency', shapeOf<number | null>(maxConcurrency)),
};

/** What the workers of a key may say of themselves; null: it is not bound. */
export const bounds = {
  name_patterns: namePatterns.meta({ shape: boundsMembers.name_patterns }),
  tags: tags.meta({ shape: boundsMembers.tags }),
  providers: providers.meta({ shape: boundsMembers.providers }),
  max_concurrency: maxConcurrency.meta({ shape: boundsMembers.max_concurrency }),
};
