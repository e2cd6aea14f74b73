/** How sequences are cut into passes over whole sequences, by their lengths alone: each pass has rows of similar length, padded to the same one. */

/** The padded length of a sequence. There are few of them, because the runtime's arena grows with each new shape. */
export const bucket = (length: number): number => {
  const step = length <= 256 ? 16 : 64;
  return Math.max(2, Math.ceil(length / step) * step);
};

/** Rows of one pass, as indices of the lengths, and the positions that each is padded to. */
export interface Pass {
  readonly rows: readonly number[];
  readonly time: number;
}

/** The longest first; rows x padded length stays within `tokens` unless one row is longer. */
export const passesOf = (lengths: readonly number[], tokens: number): readonly Pass[] => {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const passes: Pass[] = [];
  for (let from = 0; from < order.length; ) {
    const time = bucket(lengths[order[from]!]!);
    const to = from + Math.max(1, Math.floor(tokens / time));
    passes.push({ rows: order.slice(from, to), time });
    from = to;
  }
  return passes;
};
