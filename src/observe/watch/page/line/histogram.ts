/** Counts as bars of a histogram: their shares, their heights against the highest, and the mean and tail of what is counted. */

export interface Bar {
  readonly value: number;
  readonly count: number;
  readonly share: number;
  /** Against the highest bar. */
  readonly height: number;
  /** True if the bar stands for this value and all above. */
  readonly andMore: boolean;
}

/** Entry i of `counts` counts the value i; values from `most - 1` on share the last bar. Empty where nothing is counted. */
export const barsOf = (counts: readonly number[], most: number): readonly Bar[] => {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return [];
  const last = counts.findLastIndex((count) => count > 0);
  const head = counts.slice(0, Math.min(last + 1, most - 1));
  const tail = counts.slice(head.length).reduce((sum, count) => sum + count, 0);
  const folded = tail > 0 ? [...head, tail] : head;
  const highest = Math.max(...folded);
  return folded.map((count, value) => ({
    value,
    count,
    share: count / total,
    height: count / highest,
    andMore: value === head.length && last > head.length,
  }));
};

export const meanOf = (counts: readonly number[]): number | null => {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return total === 0 ? null : counts.reduce((sum, count, value) => sum + count * value, 0) / total;
};
