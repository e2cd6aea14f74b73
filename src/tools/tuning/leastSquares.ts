/** Fits a sum of parts, none of them negative, to measurements. */

/** Solves a small symmetric system by elimination; undefined where it has no one answer. */
const solve = (matrix: readonly (readonly number[])[], right: readonly number[]): readonly number[] | undefined => {
  const rows = matrix.map((row, i) => [...row, right[i]!]);
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    const pivot = rows
      .slice(column)
      .reduce((best, row) => (Math.abs(row[column]!) > Math.abs(best[column]!) ? row : best));
    const at = rows.indexOf(pivot);
    if (Math.abs(pivot[column]!) < 1e-10) return undefined;
    [rows[column], rows[at]] = [rows[at]!, rows[column]!];
    for (const row of rows) {
      if (row === pivot) continue;
      const factor = row[column]! / pivot[column]!;
      for (let i = column; i <= size; i++) row[i]! -= factor * pivot[i]!;
    }
  }
  return rows.map((row, i) => row[size]! / row[i]!);
};

const subsets = (size: number): readonly (readonly number[])[] =>
  Array.from({ length: 2 ** size - 1 }, (_, bits) =>
    Array.from({ length: size }, (_, i) => i).filter((i) => ((bits + 1) >> i) & 1),
  );

export interface Equation {
  readonly parts: readonly number[];
  /** The sum that the weighted parts should have, positive. */
  readonly value: number;
}

/**
 * Factors of the parts, 0 or more, with the least squares of relative errors. All of them 0 where there are no equations. The parts are few:
 * every choice of those that count is tried.
 */
export const leastSquares = (equations: readonly Equation[], count: number): readonly number[] => {
  const scaled = equations.map(({ parts, value }) => parts.map((part) => part / value));
  // Columns of like size keep the elimination exact.
  const sizes = Array.from({ length: count }, (_, i) => Math.max(1e-300, ...scaled.map((row) => Math.abs(row[i]!))));
  const rows = scaled.map((row) => row.map((part, i) => part / sizes[i]!));
  const none = Array.from({ length: count }, () => 0);
  let [best, least] = [none, rows.length];
  for (const used of subsets(count)) {
    const normal = used.map((i) => used.map((j) => rows.reduce((sum, row) => sum + row[i]! * row[j]!, 0)));
    const right = used.map((i) => rows.reduce((sum, row) => sum + row[i]!, 0));
    const solved = solve(normal, right);
    if (solved === undefined || solved.some((factor) => factor < 0)) continue;
    const factors = none.map((_, i) => solved[used.indexOf(i)] ?? 0);
    const error = rows.reduce(
      (sum, row) => sum + (row.reduce((at, part, i) => at + part * factors[i]!, 0) - 1) ** 2,
      0,
    );
    if (error < least - 1e-12) [best, least] = [factors, error];
  }
  return best.map((factor, i) => factor / sizes[i]!);
};
