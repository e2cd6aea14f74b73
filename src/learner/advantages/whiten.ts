/** Whitening of advantages over the trained tokens of a batch. */

/** (A - mean) / sqrt(variance + 1e-8) over the tokens with mask 1, with the unbiased variance; 0 elsewhere. [tokens] */
export const whiten = (values: ArrayLike<number>, mask: ArrayLike<number>): Float64Array => {
  const whitened = new Float64Array(values.length);
  let count = 0;
  let sum = 0;
  for (let t = 0; t < values.length; t++) {
    if (mask[t] === 0) continue;
    count++;
    sum += values[t]!;
  }
  const mean = sum / Math.max(1, count);
  let squares = 0;
  for (let t = 0; t < values.length; t++) if (mask[t] !== 0) squares += (values[t]! - mean) ** 2;
  const scale = 1 / Math.sqrt(squares / Math.max(1, count - 1) + 1e-8);
  for (let t = 0; t < values.length; t++) if (mask[t] !== 0) whitened[t] = (values[t]! - mean) * scale;
  return whitened;
};
