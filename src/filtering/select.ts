/**
 * Selection rules: which of a list of scores are kept. Pure; indices in, indices out, in the rule's ranking order. Ties rank by index.
 * Invariants: nothing is kept twice; an empty selection is an answer, not an error. Rules and their edges are RAGEN's.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { sum } from "../domain/Statistics.ts";

export type Rule = Omit<RunConfig["filter"], "metric" | "loss_scaling">;

/** A score whose size is at most this counts as zero. */
export const zero = 1e-10;
export const isZero = (score: number): boolean => Math.abs(score) <= zero;

interface Ranked {
  readonly index: number;
  readonly score: number;
}

/**
 * Walks the ranking until the mass taken reaches `value` of the total less the slack. Taking stops at scores that are not positive; if
 * the mass is not reached by then, nothing is kept, so a window of nearly no spread is skipped.
 */
const linear = (ranked: readonly Ranked[], { value, selection_eps }: Rule): readonly Ranked[] => {
  const threshold = value * sum(ranked.map(({ score }) => score)) - selection_eps;
  let mass = 0;
  let taken = 0;
  while (taken < ranked.length && mass < threshold && ranked[taken]!.score > 0) mass += ranked[taken++]!.score;
  return mass >= threshold ? ranked.slice(0, taken) : [];
};

/** The shortest prefix of the ranking with `value` of the softmax mass; at least one. */
const softmax = (ranked: readonly Ranked[], { value, type }: Rule): readonly Ranked[] => {
  const best = ranked[0]!.score;
  const weights = ranked.map(({ score }) => Math.exp(type === "largest" ? score - best : best - score));
  const total = sum(weights);
  let mass = 0;
  let taken = 0;
  do mass += weights[taken++]! / total;
  while (mass < value && taken < ranked.length);
  return ranked.slice(0, taken);
};

const minP = (ranked: readonly Ranked[], { value, type }: Rule): readonly Ranked[] => {
  const best = ranked[0]!.score;
  return ranked.filter(({ score }) =>
    type === "largest" ? score >= value * best - zero : score <= best / (value + zero) + zero,
  );
};

const apply = (ranked: readonly Ranked[], groups: number, rule: Rule): readonly Ranked[] => {
  switch (rule.strategy) {
    case "top_p":
      if (rule.value >= 1) return ranked;
      return rule.top_p_mode === "linear" ? linear(ranked, rule) : softmax(ranked, rule);
    case "top_k":
      return ranked.slice(0, Math.max(1, Math.floor(rule.value * groups)));
    case "top_k_abs":
      return ranked.slice(0, Math.floor(rule.value));
    case "min_p":
      return minP(ranked, rule);
  }
};

/**
 * Indices of the scores kept.
 * @param scores of the candidates
 * @param groups groups of the whole window, which `top_k` takes its share of
 */
export const select = (scores: readonly number[], groups: number, rule: Rule): readonly number[] => {
  const direction = rule.type === "largest" ? -1 : 1;
  const ranked = scores
    .map((score, index): Ranked => ({ index, score }))
    .filter(({ score }) => rule.include_zero || !isZero(score))
    .sort((a, b) => direction * (a.score - b.score));
  return ranked.length === 0 ? [] : apply(ranked, groups, rule).map(({ index }) => index);
};
