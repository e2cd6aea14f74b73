/**
 * Suggestions for a misspelt word: candidates ordered by edit distance, ties in their given order. Every error that names the nearest
 * valid choice uses it.
 */

/** Characters of a word that are compared; names are shorter. */
const comparedLength = 64;

/** Edit distance with transposition of neighbours (optimal string alignment), ignoring case and what follows the first characters. */
export const distance = (left: string, right: string): number => {
  const a = left.slice(0, comparedLength).toLowerCase();
  const b = right.slice(0, comparedLength).toLowerCase();
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(above[column]! + 1, current[column - 1]! + 1, above[column - 1]! + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, before[column - 2]! + 1);
      current.push(cost);
    }
    before = above;
    above = current;
  }
  return above[b.length]!;
};

export const byNearest = (word: string, candidates: Iterable<string>): readonly string[] =>
  [...candidates]
    .map((candidate) => ({ candidate, cost: distance(word, candidate) }))
    .sort((a, b) => a.cost - b.cost)
    .map(({ candidate }) => candidate);

/** The nearest candidates, separated by commas; at most `most` of them, and how many there are if that is not all. */
export const choices = (word: string, candidates: Iterable<string>, most = 12): string => {
  const sorted = byNearest(word, candidates);
  const more = sorted.length > most ? `, … (${sorted.length} in all)` : "";
  return sorted.slice(0, most).join(", ") + more;
};
