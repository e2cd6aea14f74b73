/**
 * Service times of a bench, in milliseconds, drawn from a named distribution with a given mean. The stream is counter-based, so that engine and
 * simulator draw the same times.
 */
import type { Random } from "../src/domain/Random.ts";

export const kinds = ["deterministic", "exponential", "lognormal(1)", "Pareto(1.5)"] as const;
export type Kind = (typeof kinds)[number] | "lognormal(0.5)";

const ALPHA = 1.5;
/** Longest Pareto time, in means. */
const CAP = 100;

/** One time of the given mean (Pareto's is a little below it, for the cap). */
export const draw = (kind: Kind, mean: number, random: Random): number => {
  switch (kind) {
    case "deterministic":
      return mean;
    case "exponential":
      return -mean * Math.log(1 - random.uniform());
    case "lognormal(0.5)":
      return mean * Math.exp(0.5 * random.normal() - 0.125);
    case "lognormal(1)":
      return mean * Math.exp(random.normal() - 0.5);
    case "Pareto(1.5)":
      return mean * Math.min(CAP, ((ALPHA - 1) / ALPHA) * (1 - random.uniform()) ** (-1 / ALPHA));
  }
};
