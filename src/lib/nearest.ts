/**
 * Edits that turn `a` into `b`: inserted, removed, replaced and swapped neighbouring characters, one each (the optimal
 * string alignment distance). Quadratic in the length, so for names, not for texts.
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (isSame ? 0 : 1));
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) least = Math.min(least, at(beforeLast, j - 2) + 1);
      row.push(least);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}

/** A longer word than this is not a typing error. */
const wordLengthMax = 64;

/**
 * The candidate that `word` most likely means; null when none is near. Near is a third of the word's length, at least
 * one edit: beyond that a hint misleads more often than it helps. Case and `-` for `_` cost nothing.
 */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length > wordLengthMax) return null;
  const wanted = plain(word);
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    if (candidate.length > wordLengthMax) continue;
    const distance = editDistance(wanted, plain(candidate));
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll('-', '_');
}
