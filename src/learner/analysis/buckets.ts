/**
 * Sorts the groups of a batch into buckets by the spread of their rewards, for the gradient analysis. Invariant: every group is in exactly
 * one bucket, with all its sequences.
 */
import { allSequences, boundsOf, type TokenBatch } from "../../domain/Batch.ts";
import { standardDeviation, sum } from "../../domain/Statistics.ts";

/** A group of the batch with the standard deviation of its episodes' rewards. */
export interface RatedGroup {
  readonly group: number;
  /** Unbiased; RAGEN calls it reward variance. */
  readonly std: number;
  readonly sequences: readonly number[];
}

export interface Bucket {
  /** `bucket_1` has the least spread; `all` is the whole batch. */
  readonly name: string;
  readonly groups: readonly RatedGroup[];
}

/** Lower ends of the buckets of `fixed_rv`; the last one has no upper end. */
const EDGES = [0, 1, 2, 3, 4, 5] as const;

/** Returns the groups of a batch. An episode's reward is the sum over the tokens of its sequences. */
export const ratedGroups = (
  batch: Pick<TokenBatch, "groups" | "members" | "offsets" | "rewards">,
): readonly RatedGroup[] => {
  const byGroup = Map.groupBy(allSequences(batch), (sequence) => batch.groups[sequence]!);
  return Array.from(byGroup, ([group, sequences]) => {
    const episodes = Map.groupBy(sequences, (sequence) => batch.members[sequence]!);
    const rewards = Array.from(episodes.values(), (parts) =>
      sum(parts.flatMap((sequence) => Array.from(batch.rewards.subarray(...boundsOf(batch, sequence))))),
    );
    return { group, std: standardDeviation(rewards), sequences };
  });
};

const ascending = (groups: readonly RatedGroup[]): readonly RatedGroup[] =>
  groups.toSorted((a, b) => a.std - b.std || a.group - b.group);

/** Cuts groups into buckets of equal size, at most one per group. The last bucket takes the remainder. */
const quantiles = (groups: readonly RatedGroup[], count: number): readonly (readonly RatedGroup[])[] => {
  const buckets = Math.min(count, groups.length);
  const size = Math.floor(groups.length / buckets);
  return Array.from({ length: buckets }, (_, i) =>
    groups.slice(i * size, i === buckets - 1 ? groups.length : (i + 1) * size),
  );
};

const between = (groups: readonly RatedGroup[]): readonly (readonly RatedGroup[])[] =>
  EDGES.map((edge, i) => groups.filter(({ std }) => std >= edge && std < (EDGES[i + 1] ?? Number.POSITIVE_INFINITY)));

export type BucketMode = "quantile" | "fixed_rv";

/** Returns the buckets that are not empty, least spread first, and then `all`. An empty batch has none. */
export const bucketsOf = (groups: readonly RatedGroup[], mode: BucketMode, count: number): readonly Bucket[] => {
  if (groups.length === 0) return [];
  const ordered = ascending(groups);
  const parts = mode === "quantile" ? quantiles(ordered, count) : between(ordered);
  const named = parts.map((part, i): Bucket => ({ name: `bucket_${i + 1}`, groups: part }));
  return [...named.filter((bucket) => bucket.groups.length > 0), { name: "all", groups: ordered }];
};
