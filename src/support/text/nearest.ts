/** Suggestions for a misspelt word, ordered by edit distance; ties keep their order. Every error with a nearest choice uses them. */

/** Only so many first characters are compared; names are shorter. */
const comparedLength = 64;

/** Case-insensitive edit distance with transposition of neighbours (optimal string alignment) of the first characters. */
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

/** Joins the nearest candidates with commas, at most `most`, followed by the total if there are more. */
export const choices = (word: string, candidates: Iterable<string>, most = 12): string => {
  const sorted = byNearest(word, candidates);
  const more = sorted.length > most ? `, … (${sorted.length} in all)` : "";
  return sorted.slice(0, most).join(", ") + more;
};
