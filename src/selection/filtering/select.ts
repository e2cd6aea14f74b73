/**
 * Selection rules: which of a list of scores are kept. Pure. The result is indices in the rule's ranking order; ties rank by index.
 * Invariants: no index is kept twice; an empty selection is a value, not an error. Rules and their edge cases are RAGEN's.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import { sum } from "../../domain/Statistics.ts";

export type SelectionRule = Omit<RunConfig["filter"], "metric" | "loss_scaling" | "refill">;

/** A score whose size is at most this counts as zero. */
const zeroTolerance = 1e-10;
export const isZero = (score: number): boolean => Math.abs(score) <= zeroTolerance;

interface Ranked {
  readonly index: number;
  readonly score: number;
}

/**
 * Walks the ranking until the mass taken reaches `value` of the total less the slack. Taking stops at scores that are not positive; if
 * the mass is not reached by then, nothing is kept, so a window of nearly no spread is skipped.
 */
const linear = (ranked: readonly Ranked[], { value, selection_eps }: SelectionRule): readonly Ranked[] => {
  const threshold = value * sum(ranked.map(({ score }) => score)) - selection_eps;
  const kept: Ranked[] = [];
  let mass = 0;
  for (const next of ranked) {
    if (mass >= threshold || next.score <= 0) break;
    mass += next.score;
    kept.push(next);
  }
  return mass >= threshold ? kept : [];
};

/** The shortest prefix of the ranking with `value` of the softmax mass; at least one. */
const softmax = (ranked: readonly Ranked[], best: number, { value, type }: SelectionRule): readonly Ranked[] => {
  const weights = ranked.map(({ score }) => Math.exp(type === "largest" ? score - best : best - score));
  const total = sum(weights);
  let mass = 0;
  let count = 0;
  for (const weight of weights) {
    mass += weight / total;
    count++;
    if (mass >= value) break;
  }
  return ranked.slice(0, count);
};

const minP = (ranked: readonly Ranked[], best: number, { value, type }: SelectionRule): readonly Ranked[] =>
  ranked.filter(({ score }) =>
    // With a value of 1 the best score is always kept; a term added to the divisor would drop a large one.
    type === "largest"
      ? score >= value * best - zeroTolerance
      : score <= best / Math.max(value, zeroTolerance) + zeroTolerance,
  );

/** The nearest whole number, halves to the even one, as RAGEN's ranks are rounded. */
export const roundHalfEven = (x: number): number => {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
};

/** Ranks from `percentile_low` of the candidates up to, and without, `percentile_high`; at least one where the ranking reaches so far. */
const percentileRange = (
  ranked: readonly Ranked[],
  { percentile_high, percentile_low }: SelectionRule,
): readonly Ranked[] => {
  const from = roundHalfEven(percentile_low * ranked.length);
  return ranked.slice(from, Math.max(from + 1, roundHalfEven(percentile_high * ranked.length)));
};

const apply = (ranked: readonly Ranked[], groups: number, rule: SelectionRule): readonly Ranked[] => {
  const [first] = ranked;
  if (first === undefined) return [];
  switch (rule.strategy) {
    case "top_p":
      if (rule.value >= 1) return ranked;
      return rule.top_p_mode === "linear" ? linear(ranked, rule) : softmax(ranked, first.score, rule);
    case "top_k":
      return ranked.slice(0, Math.max(1, Math.floor(rule.value * groups)));
    case "top_k_abs":
      return ranked.slice(0, Math.max(1, Math.floor(rule.value)));
    case "min_p":
      return minP(ranked, first.score, rule);
    case "percentile_range":
      return percentileRange(ranked, rule);
    case "within_group":
      return ranked;
  }
};

/**
 * Indices of the scores kept.
 * @param scores of the candidates
 * @param groups groups of the whole window, which `top_k` takes its share of
 */
export const select = (scores: readonly number[], groups: number, rule: SelectionRule): readonly number[] => {
  const direction = rule.type === "largest" ? -1 : 1;
  const ranked = scores
    .map((score, index): Ranked => ({ index, score }))
    .filter(({ score }) => rule.include_zero || !isZero(score))
    .sort((a, b) => direction * (a.score - b.score));
  return apply(ranked, groups, rule).map(({ index }) => index);
};
