import type { RawQuery } from '../../http/query.ts';
import { invalidField } from './errors.ts';

/** What a client asks of a list. */
export interface PageRequest {
  limit: number;
  /** Oldest first. */
  isAscending: boolean;
  /** The id of the last item of the page before; null for the first page. */
  after: string | null;
}

interface Bounds {
  limitMax: number;
  limit: number;
  order: 'asc' | 'desc';
}

const usual: Bounds = { limitMax: 100, limit: 20, order: 'asc' };

/** @param bounds what differs from most lists of OpenAI's. @throws OpenAiError invalid_value. */
export function readPage(query: RawQuery, bounds: Partial<Bounds> = {}): PageRequest {
  const { limitMax, limit: fallback, order: usualOrder } = { ...usual, ...bounds };
  const { limit, order = usualOrder, after } = query;
  if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc');
  if (Array.isArray(after)) throw invalidField('after', 'may be given once');
  const count = limit === undefined ? fallback : wholeNumber(limit);
  if (!(count >= 1 && count <= limitMax))
    throw invalidField('limit', `must be a whole number from 1 to ${limitMax}`);
  return { limit: count, isAscending: order === 'asc', after: after ?? null };
}

function wholeNumber(text: string | string[]): number {
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

/** What a list says besides its `data`. @param ids of the items that are in it. */
export function listFrame(ids: readonly string[], hasMore: boolean) {
  return { object: 'list', first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null, has_more: hasMore };
}
