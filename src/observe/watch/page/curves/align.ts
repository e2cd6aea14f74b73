/** Curves of several runs on one axis: the union of their places, with a gap where a run has none. */
import type { Curves } from "../../Api.ts";
import { smoothed } from "./smooth.ts";

export type Axis = "step" | "time";
type Values = readonly (number | null)[];

/** One run's curve of a metric; `smooth` is drawn over `mean`, between `min` and `max`. */
export interface Curve {
  readonly x: readonly number[];
  readonly mean: Values;
  readonly smooth: Values;
  readonly min: Values;
  readonly max: Values;
}

export interface Aligned {
  readonly x: readonly number[];
  /** One for each run, in the order given; empty values for a run without the metric. */
  readonly curves: readonly Omit<Curve, "x">[];
}

export interface View {
  readonly axis: Axis;
  readonly smoothing: number;
  /** Milliseconds since the Unix epoch; what came later is left out. */
  readonly until: number | null;
  /** Only positive values can be drawn. */
  readonly log: boolean;
}

/** A metric of a run as a curve; `started` is where its time begins. Null where the run does not have it. */
export const curveOf = (curves: Curves, name: string, started: number, view: View): Curve | null => {
  const series = curves.series.find((series) => series.name === name);
  if (series === undefined) return null;
  const end = view.until === null ? curves.times.length : curves.times.findLastIndex((time) => time <= view.until!) + 1;
  const drawn = (values: Values): Values =>
    values.slice(0, end).map((value) => (value === null || (view.log && value <= 0) ? null : value));
  const x = view.axis === "step" ? curves.steps : curves.times.map((time) => (time - started) / 1000);
  const mean = drawn(series.mean);
  return {
    x: x.slice(0, end),
    mean,
    smooth: smoothed(mean, view.smoothing),
    min: drawn(series.min),
    max: drawn(series.max),
  };
};

export const align = (curves: readonly (Curve | null)[]): Aligned => {
  const x = [...new Set(curves.flatMap((curve) => curve?.x ?? []))].sort((a, b) => a - b);
  const place = new Map(x.map((value, i) => [value, i]));
  const spread = (from: readonly number[], values: Values): Values => {
    const row = new Array<number | null>(x.length).fill(null);
    for (const [i, value] of values.entries()) row[place.get(from[i]!)!] = value;
    return row;
  };
  return {
    x,
    curves: curves.map((curve) =>
      curve === null
        ? { mean: [], smooth: [], min: [], max: [] }
        : {
            mean: spread(curve.x, curve.mean),
            smooth: spread(curve.x, curve.smooth),
            min: spread(curve.x, curve.min),
            max: spread(curve.x, curve.max),
          },
    ),
  };
};

/** Curves followed by newer ones of the same metrics. */
export const appended = (curves: Curves, more: Curves): Curves => {
  const from = more.steps.findIndex((step) => step > (curves.steps.at(-1) ?? -1));
  if (from < 0) return curves;
  const gap = (values: Values | undefined): Values => values ?? more.steps.map(() => null);
  return {
    steps: [...curves.steps, ...more.steps.slice(from)],
    times: [...curves.times, ...more.times.slice(from)],
    series: curves.series.map((series) => {
      const next = more.series.find(({ name }) => name === series.name);
      return {
        name: series.name,
        mean: [...series.mean, ...gap(next?.mean).slice(from)],
        min: [...series.min, ...gap(next?.min).slice(from)],
        max: [...series.max, ...gap(next?.max).slice(from)],
      };
    }),
  };
};
