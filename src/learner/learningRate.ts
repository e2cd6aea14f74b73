/** Learning-rate schedules: a pure function of the number of earlier updates. Invariant: the first update never has rate 0. */

export interface Schedule {
  readonly peak: number;
  /** Updates of linear warm-up. */
  readonly warmup: number;
  readonly decay: "constant" | "linear" | "cosine";
  /** Updates after which a decaying rate is 0. */
  readonly total: number;
}

/** Returns the rate of update number `update`, counted from 0. */
export const learningRate = ({ peak, warmup, decay, total }: Schedule, update: number): number => {
  if (update < warmup) return (peak * (update + 1)) / warmup;
  if (decay === "constant") return peak;
  const progress = Math.min(1, (update - warmup) / Math.max(1, total - warmup));
  return decay === "linear" ? peak * (1 - progress) : (peak * (1 + Math.cos(Math.PI * progress))) / 2;
};
