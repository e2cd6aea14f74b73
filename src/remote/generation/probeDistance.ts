/**
 * Distance of a server's log-probabilities from our own behind prefixes of a fixed text: the server names the likeliest tokens, and we have
 * the scores of all. Temperature divides the scores, so the same rows serve every temperature.
 */

/** Log-probabilities by id, as a server returns them behind one prefix. */
export type LikeliestTokens = ReadonlyMap<number, number>;

/** log of the sum of e^(score / temperature). */
const logSum = (row: Float32Array, temperature: number): number => {
  let largest = Number.NEGATIVE_INFINITY;
  for (const score of row) largest = Math.max(largest, score);
  let sum = 0;
  for (const score of row) sum += Math.exp((score - largest) / temperature);
  return largest / temperature + Math.log(sum);
};

/**
 * Mean absolute distance in nats over all tokens that the server names; infinite if one is not finite, or none is named.
 *
 * @param rows our scores of all tokens, [prefixes, vocabulary]
 */
export const probeDistance = (rows: Float32Array, theirs: readonly LikeliestTokens[], temperature: number): number => {
  const width = rows.length / theirs.length;
  let sum = 0;
  let count = 0;
  for (const [index, likeliest] of theirs.entries()) {
    const row = rows.subarray(index * width, (index + 1) * width);
    const total = logSum(row, temperature);
    for (const [id, value] of likeliest) {
      sum += Math.abs((row[id] ?? Number.NaN) / temperature - total - value);
      count++;
    }
  }
  const mean = sum / count;
  return Number.isFinite(mean) ? mean : Number.POSITIVE_INFINITY;
};
