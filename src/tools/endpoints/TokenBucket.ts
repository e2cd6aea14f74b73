/**
 * A rate limit: so much a minute, in even pace. An amount taken early is owed, and the next taker waits for that too, so turns go in the
 * order they were asked for. Pure. Invariant: within any time t, at most the rate times t and one second more may go, apart from a single
 * amount that is larger.
 */
export interface TokenBucket {
  /** Null: no limit. */
  readonly perMinute: number | null;
  /** The amount in the bucket; negative while a debt is refilled. */
  readonly level: number;
  /** The time of `level`, milliseconds. */
  readonly at: number;
}

const minute = 60_000;
const second = 1_000;

export const make = (perMinute: number | null, now: number): TokenBucket => ({
  perMinute,
  level: perMinute === null ? 0 : (perMinute * second) / minute,
  at: now,
});

const filled = (bucket: TokenBucket, now: number): TokenBucket => {
  const { at, level, perMinute } = bucket;
  if (perMinute === null) return bucket;
  const most = (perMinute * second) / minute;
  return { perMinute, level: Math.min(most, level + (perMinute * Math.max(0, now - at)) / minute), at: now };
};

/** Takes an amount, and says how long to wait before it is used, milliseconds. */
export const take = (
  bucket: TokenBucket,
  amount: number,
  now: number,
): { readonly bucket: TokenBucket; readonly waitMs: number } => {
  if (bucket.perMinute === null) return { bucket, waitMs: 0 };
  const { level, ...rest } = filled(bucket, now);
  // An amount above a second's worth goes as soon as the debt before it is paid.
  const most = (bucket.perMinute * second) / minute;
  const missing = Math.min(amount, most) - level;
  const waitMs = Math.max(0, Math.ceil((missing * minute) / bucket.perMinute));
  return { bucket: { ...rest, level: level - amount }, waitMs };
};

/** Gives back an unused amount; a negative amount is taken without a wait. */
export const giveBack = (bucket: TokenBucket, amount: number): TokenBucket => ({
  ...bucket,
  level: bucket.level + amount,
});
