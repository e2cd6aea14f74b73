/**
 * A bench asks one question. It is measured in one or more parts, and its figures are computed from the measurements and the machine's GEMM
 * unit at that time. The runner takes care of processes, the unit, tables and files.
 */
import type { GemmUnit } from "./gemmUnit.ts";
import type { Samples } from "./samples.ts";

/** A bound that a figure is held to. */
export type Target = { readonly atLeast: number } | { readonly atMost: number };

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Without one the figure only explains others. */
  readonly target?: Target;
  /** Distance between the quartiles, in the figure's unit. */
  readonly iqr?: number;
  readonly repetitions?: number;
  /** The method of measurement, if the name does not say it. */
  readonly note?: string;
}

/** Figures once the unit of the run is known; its GEMMs are timed before and after the measurement. */
export type Measured = (unit: GemmUnit) => readonly Figure[];

export interface Bench {
  readonly question: string;
  /** Measured one after the other; the unit is timed before, between and after them. */
  readonly parts: readonly (() => Promise<Measured>)[];
}

export const met = ({ target, value }: Figure): boolean | undefined => {
  if (target === undefined) return undefined;
  return "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
};

/** A figure whose value is the median of samples, scaled. */
export const figureOf = (
  name: string,
  unit: string,
  samples: Samples,
  rest: { readonly scale?: number; readonly target?: Target; readonly note?: string } = {},
): Figure => {
  const { scale = 1, ...described } = rest;
  return {
    name,
    value: samples.median * scale,
    unit,
    iqr: samples.iqr * Math.abs(scale),
    repetitions: samples.count,
    ...described,
  };
};
