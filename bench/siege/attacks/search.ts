import type { Siege } from '../attacker.ts';
import { outcome } from '../wire.ts';

const letters = (count: number): string => 'a'.repeat(count);
const queries = [
  `q=${letters(7_000)}b${letters(7_000)}`,
  `q=${letters(120)}b${letters(79)}`,
  `q=${letters(199)}b`,
  `tag=${letters(14_000)}`,
  `model=${letters(14_000)}`,
  Array.from({ length: 500 }, (_, index) => `tag=t${index}`).join('&'),
  `worker=${letters(7_000)}b&q=${letters(200)}`,
  'q=zzzzzz&limit=1000&offset=1000000',
];

/** A search whose text almost fits everywhere. */
export function search(siege: Siege, turn: number): Promise<string> {
  return outcome(siege, { path: `/api/jobs?${queries[turn % queries.length]}` });
}
