/**
 * The regime of a measurement (RAGEN-2, arXiv 2604.06268: entropy alone cannot see template collapse). Pure. Thresholds are relative to the
 * run's first measurements, because both quantities depend on the model, the prompts and the length of thoughts. They are also relative to
 * chance, because a run may start collapsed.
 */
import type { Baseline } from "../../domain/CollapseMeans.ts";
import type { Regime } from "../../domain/Regime.ts";

/** H(Z|X), and I(X;Z), count as low below this share of the run's baseline. */
export const LOW = 0.5;
/** I(X;Z) of whole thoughts counts as low below this share of its bound, ln N, whatever the baseline is. */
export const CHANCE = 0.1;

export interface RegimeInput {
  /** Estimates of H(Z|X) and I(X;Z), nats per token. */
  readonly entropy: number;
  readonly information: number;
  /** The estimate of I(X;Z) over whole thoughts, and its bound. */
  readonly informationSeq: number;
  readonly bound: number;
}

/** `baseline`: of the run's first measurements, this one included where it is one of them. */
export const regimeOf = (measured: RegimeInput, baseline: Pick<Baseline, "entropy" | "information">): Regime => {
  const varies = measured.entropy >= LOW * baseline.entropy;
  const tells = measured.information >= LOW * baseline.information && measured.informationSeq > CHANCE * measured.bound;
  if (tells) return varies ? "healthy" : "compressed";
  return varies ? "template_collapse" : "entropy_collapse";
};
