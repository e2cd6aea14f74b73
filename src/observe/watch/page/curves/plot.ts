/** A chart's options for uPlot: axes, colours and series of several runs, each with its band, raw curve and smoothed curve. */
import type uPlot from "uplot";
import { duration, number } from "../format.ts";
import { faded } from "../palette.ts";
import type { Aligned, Axis } from "./align.ts";

export interface Colours {
  readonly text: string;
  readonly grid: string;
  readonly accent: string;
  readonly marks: Readonly<Record<string, string>>;
}

/** Series of a run: greatest and least, measured, smoothed. */
export const PER_RUN = 4;
/** The index of the row of values; row 0 of the data is the axis. */
export const MEASURED = 3;

/** Rows of numbers in the order of `seriesOf`. */
export const dataOf = ({ curves, x }: Aligned): uPlot.AlignedData => {
  const row = (values: readonly (number | null)[]): (number | null)[] =>
    values.length === 0 ? new Array<number | null>(x.length).fill(null) : [...values];
  return [[...x], ...curves.flatMap(({ max, mean, min, smooth }) => [row(max), row(min), row(mean), row(smooth)])];
};

interface SeriesOptions {
  readonly colours: readonly string[];
  readonly band: boolean;
  readonly raw: boolean;
  readonly theme: "light" | "dark";
}

/** The measured line under a smoothed one: fainter, and seen on either ground. */
const MEASURED_OPACITY = { light: 0.42, dark: 0.6 } as const;

export const seriesOf = ({ band, colours, raw, theme }: SeriesOptions): uPlot.Series[] => [
  {},
  ...colours.flatMap((colour): uPlot.Series[] => {
    const hidden = { width: 0, points: { show: false }, spanGaps: true };
    return [
      { ...hidden, show: band },
      { ...hidden, show: band },
      { stroke: faded(colour, MEASURED_OPACITY[theme]), width: 1, points: { show: false }, spanGaps: true, show: raw },
      { stroke: colour, width: 1.75, spanGaps: true, points: { size: 5, fill: colour } },
    ];
  }),
];

export const bandsOf = (colours: readonly string[], band: boolean): uPlot.Band[] =>
  band ? colours.map((colour, i) => ({ series: [1 + i * PER_RUN, 2 + i * PER_RUN], fill: faded(colour, 0.13) })) : [];

export const axesOf = (axis: Axis, { grid, text }: Colours): uPlot.Axis[] => {
  const common = {
    stroke: text,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1, size: 4 },
    font: "11px system-ui, sans-serif",
    gap: 4,
  };
  const along = (values: readonly number[]) =>
    values.map((value) => (axis === "step" ? number(value) : duration(value * 1000)));
  return [
    { ...common, size: 28, space: axis === "time" ? 80 : 60, values: (_, values) => along(values) },
    {
      ...common,
      size: 50,
      space: 28,
      values: (_, values) => values.map((value) => (value === null ? "" : number(value))),
    },
  ];
};

/** A little beyond 0 and 1, so that a line along them is seen whole. */
const SHARES: readonly [number, number] = [-0.02, 1.02];

/** The range of an axis of values with a margin; a flat curve gets room, too. That of shares says nothing of values beyond 0 and 1. */
export const rangeOf = (
  min: number | null,
  max: number | null,
  { log, shares = false }: { readonly log: boolean; readonly shares?: boolean },
): [number, number] => {
  if (min === null || max === null || !Number.isFinite(min) || !Number.isFinite(max)) return log ? [0.1, 1] : [0, 1];
  if (log)
    return [
      10 ** Math.floor(Math.log10(min)),
      10 ** Math.max(Math.ceil(Math.log10(max)), Math.floor(Math.log10(min)) + 1),
    ];
  const margin = max > min ? (max - min) * 0.06 : Math.abs(max) * 0.1 || 0.5;
  const [low, high] = [min - margin, max + margin];
  return shares && min >= 0 && max <= 1 ? [Math.max(low, SHARES[0]), Math.min(high, SHARES[1])] : [low, high];
};
