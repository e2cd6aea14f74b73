/**
 * Whether a server's log-probabilities are those of the distribution it samples from. Temperature t multiplies every difference between two
 * log-probabilities by 1/t; raw ones stay as they are. Pure.
 */

/** Log-probabilities by id. */
export type Likeliest = ReadonlyMap<number, number>;

/** Of the ids that both have: the largest difference of log-probabilities at temperature 1, and the same pair's at `temperature`. */
const widest = (plain: Likeliest, other: Likeliest): readonly [number, number] | undefined => {
  const shared = [...plain.keys()].filter((id) => other.has(id));
  let best: readonly [number, number] | undefined;
  for (const a of shared) {
    for (const b of shared) {
      const pair = [plain.get(a)! - plain.get(b)!, other.get(a)! - other.get(b)!] as const;
      if (best === undefined || pair[0] > best[0]) best = pair;
    }
  }
  return best;
};

/** Where the likeliest tokens are equally likely, or the two have no two ids in common, nothing speaks against it. */
export const isTempered = (plain: Likeliest, other: Likeliest, temperature: number): boolean => {
  const [before, after] = widest(plain, other) ?? [0, 0];
  if (before === 0) return true;
  const grown = before / temperature;
  // Nearer to the tempered difference than to the raw one.
  return Math.abs(after - grown) < Math.abs(after - before);
};
