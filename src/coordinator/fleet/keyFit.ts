import type { KeyBounds } from '../../domain/key.ts';
import type { WorkerHello } from '../../domain/worker.ts';
import { isLike } from '../../lib/wildcard.ts';

/** What a worker says of itself that its key may bind. */
type Said = Pick<WorkerHello, 'name' | 'tags' | 'providers'>;

/** Items that a message names. */
const shownMax = 10;

/** Why a worker goes beyond its key, with the field and what is allowed; null when it does not. */
export function misfitOf({ name, tags, providers }: Said, bounds: KeyBounds | null): string | null {
  if (bounds === null) return null;
  const { namePatterns } = bounds;
  if (namePatterns !== null && !namePatterns.some((pattern) => isLike(name, pattern))) {
    return `name: the key is for workers called ${shown(namePatterns)}`;
  }
  const tag = tags.find((one) => bounds.tags !== null && !bounds.tags.includes(one));
  if (bounds.tags !== null && tag !== undefined) {
    return `tags: the key allows ${bounds.tags.length === 0 ? 'none' : shown(bounds.tags)}, not ${shown([tag])}`;
  }
  const provider = providers.find((one) => bounds.providers !== null && !bounds.providers.includes(one));
  if (bounds.providers !== null && provider !== undefined) {
    return `providers: the key allows ${shown(bounds.providers)}, not ${shown([provider])}`;
  }
  return null;
}

function shown(names: readonly string[]): string {
  const more = names.length > shownMax ? ` and ${names.length - shownMax} more` : '';
  return `${names
    .slice(0, shownMax)
    .map((name) => JSON.stringify(name))
    .join(', ')}${more}`;
}
