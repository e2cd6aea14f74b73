/**
 * Several models side by side, on the instances they share. Pure. The others are compared with the first. Differences are taken instance by
 * instance, so that an instance's difficulty does not count as noise.
 */

import { bootstrap, type Interval, mcnemar, wilson } from "../../domain/intervals.ts";
import { mean } from "../../domain/Statistics.ts";

/** Outcomes of one model on one instance. */
export interface Result {
  readonly tag: string;
  readonly seed: number;
  /** Null where it was not recorded. */
  readonly contentKey: string | null;
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
  /** Instances that only one of the two has played. */
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

const byKey = ({ results }: Contestant): ReadonlyMap<string, Result> =>
  new Map(results.map((result) => [keyOf(result), result]));

/** Each instance of both, in the first's order. */
const shared = (one: Contestant, other: Contestant): readonly (readonly [Result, Result])[] => {
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
  const unlike = pairs.find(
    ([a, b]) => a.contentKey !== null && b.contentKey !== null && a.contentKey !== b.contentKey,
  );
  return unlike === undefined
    ? null
    : `the instance of ${unlike[0].tag} with the seed ${unlike[0].seed} is not the same`;
};

const successOf = (results: readonly Result[]): Interval => {
  const alone = results.every(({ successes }) => successes.length === 1);
  const shares = results.map(({ successes }) => mean(successes));
  return alone ? wilson(shares.filter((share) => share === 1).length, shares.length) : bootstrap(shares);
};

const rowOf = ({ name, results }: Contestant): Row => {
  const returns = results.flatMap((result) => (result.returns === null ? [] : [mean(result.returns)]));
  const byTag = [...Map.groupBy(results, ({ tag }) => tag)];
  return {
    name,
    episodes: results.reduce((sum, { successes }) => sum + successes.length, 0),
    success: successOf(results),
    return: returns.length < results.length ? null : bootstrap(returns),
    byTag: byTag.length < 2 ? {} : Object.fromEntries(byTag.map(([tag, of]) => [tag, successOf(of)])),
  };
};

const returnOf = (pairs: readonly (readonly [Result, Result])[]): Interval | null => {
  const differences = pairs.flatMap(([a, b]) =>
    a.returns === null || b.returns === null ? [] : [mean(b.returns) - mean(a.returns)],
  );
  return differences.length < pairs.length ? null : bootstrap(differences);
};

const pairOf = (first: Contestant, other: Contestant): Pair => {
  const pairs = shared(first, other);
  const differences = pairs.map(([a, b]) => mean(b.successes) - mean(a.successes));
  const alone = pairs.every(([a, b]) => a.successes.length === 1 && b.successes.length === 1);
  const gained = differences.filter((difference) => difference > 0).length;
  const lost = differences.filter((difference) => difference < 0).length;
  return {
    name: other.name,
    against: first.name,
    instances: pairs.length,
    unmatched: first.results.length + other.results.length - 2 * pairs.length,
    success: bootstrap(differences),
    gained: alone ? gained : null,
    lost: alone ? lost : null,
    p: alone ? mcnemar(gained, lost) : null,
    return: returnOf(pairs),
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
