/**
 * Several models side by side, on the instances they share. Pure. The others are compared with the first. Differences are taken seed by
 * seed, so that an instance's difficulty does not count as noise. Seeds of one content are one instance.
 */

import { clusterBootstrap, type Interval, isPlayedOnce, mcnemar, successInterval } from "../../domain/intervals.ts";
import { mean } from "../../domain/Statistics.ts";

/** Outcomes of one model on one seed. */
export interface Result {
  readonly tag: string;
  readonly seed: number;
  /** The digest of the instance's content (`instanceDigest`); null where it was not recorded. */
  readonly instance: string | null;
  /** 0 or 1 of each episode. */
  readonly successes: readonly number[];
  /** The return of each episode; null where they were not recorded. */
  readonly returns: readonly number[] | null;
}

export interface Contestant {
  readonly name: string;
  readonly results: readonly Result[];
}

/** One model, over all its own instances. */
export interface Row {
  readonly name: string;
  readonly episodes: number;
  readonly success: Interval;
  /** Null where returns were not recorded. */
  readonly return: Interval | null;
  /** Success by preset, where there are several. */
  readonly byTag: Readonly<Record<string, Interval>>;
}

/** One model less the first, over the instances that both played. */
export interface Pair {
  readonly name: string;
  readonly against: string;
  readonly instances: number;
  /** Seeds that only one of the two has played. */
  readonly unmatched: number;
  readonly success: Interval;
  /** Instances that only this one solved, and only the other one; null where an instance was played more than once. */
  readonly gained: number | null;
  readonly lost: number | null;
  /** P-value of McNemar's exact test; null where an instance was played more than once. */
  readonly p: number | null;
  readonly return: Interval | null;
}

export interface Comparison {
  readonly rows: readonly Row[];
  readonly pairs: readonly Pair[];
}

const keyOf = ({ seed, tag }: Result): string => JSON.stringify([tag, seed]);

/** The results of each instance. */
const byInstance = <R>(results: readonly R[], resultOf: (result: R) => Result): readonly (readonly R[])[] => [
  ...Map.groupBy(results, (result) => {
    const { instance, seed, tag } = resultOf(result);
    return instance ?? JSON.stringify([tag, seed]);
  }).values(),
];

const byKey = ({ results }: Contestant): ReadonlyMap<string, Result> =>
  new Map(results.map((result) => [keyOf(result), result]));

type Matched = readonly [first: Result, other: Result];

/** Each seed of both, in the first's order. */
const shared = (one: Contestant, other: Contestant): readonly Matched[] => {
  const others = byKey(other);
  return one.results.flatMap((result) => {
    const match = others.get(keyOf(result));
    return match === undefined ? [] : [[result, match] as const];
  });
};

/** Why two models cannot be compared, in words; null where they can. */
export const obstacle = (one: Contestant, other: Contestant): string | null => {
  const pairs = shared(one, other);
  if (pairs.length === 0) return "they share no instance";
  const unlike = pairs.find(([a, b]) => a.instance !== null && b.instance !== null && a.instance !== b.instance);
  return unlike === undefined
    ? null
    : `the instance of ${unlike[0].tag} with the seed ${unlike[0].seed} is not the same`;
};

/** The values of each instance; null where a result lacks them. */
const valuesOf = <R>(
  instances: readonly (readonly R[])[],
  values: (result: R) => readonly number[] | null,
): readonly (readonly number[])[] | null =>
  instances.flat().some((result) => values(result) === null)
    ? null
    : instances.map((results) => results.flatMap((result) => values(result) ?? []));

const instancesOf = (results: readonly Result[]) => byInstance(results, (result) => result);

const successOf = (results: readonly Result[]): Interval =>
  successInterval(instancesOf(results).map((members) => members.flatMap(({ successes }) => successes)));

const rowOf = ({ name, results }: Contestant): Row => {
  const returns = valuesOf(instancesOf(results), (result) => result.returns);
  const byTag = [...Map.groupBy(results, ({ tag }) => tag)];
  return {
    name,
    episodes: results.reduce((sum, { successes }) => sum + successes.length, 0),
    success: successOf(results),
    return: returns === null ? null : clusterBootstrap(returns),
    byTag: byTag.length < 2 ? {} : Object.fromEntries(byTag.map(([tag, tagged]) => [tag, successOf(tagged)])),
  };
};

const successGain = ([a, b]: Matched): number => mean(b.successes) - mean(a.successes);
const returnGain = ([a, b]: Matched): readonly number[] | null =>
  a.returns === null || b.returns === null ? null : [mean(b.returns) - mean(a.returns)];

const pairOf = (first: Contestant, other: Contestant): Pair => {
  const pairs = shared(first, other);
  const instances = byInstance(pairs, ([a, b]) => (a.instance === null ? b : a));
  const differences = instances.map((members) => members.map(successGain));
  const alone =
    isPlayedOnce(instances) && pairs.every(([a, b]) => a.successes.length === 1 && b.successes.length === 1);
  const gained = differences.flat().filter((difference) => difference > 0).length;
  const lost = differences.flat().filter((difference) => difference < 0).length;
  const returns = valuesOf(instances, returnGain);
  return {
    name: other.name,
    against: first.name,
    instances: instances.length,
    unmatched: first.results.length + other.results.length - 2 * pairs.length,
    success: clusterBootstrap(differences),
    gained: alone ? gained : null,
    lost: alone ? lost : null,
    p: alone ? mcnemar(gained, lost) : null,
    return: returns === null ? null : clusterBootstrap(returns),
  };
};

/** Leaves out contestants without an episode. No two of the others may have an `obstacle`. */
export const comparison = (contestants: readonly Contestant[]): Comparison => {
  const entrants = contestants.filter(({ results }) => results.length > 0);
  const [first, ...others] = entrants;
  return {
    rows: entrants.map(rowOf),
    pairs: first === undefined ? [] : others.map((other) => pairOf(first, other)),
  };
};
