/**
 * The table of a sweep: for each point and column the mean over its finished runs with its interval. Pure. A value that was not measured is
 * absent; a point without finished runs has an empty row.
 */
import { entryOf } from "../../domain/metrics/Catalogue.ts";
import { type Interval, type IntervalKind, intervalOf, ofShares } from "./Interval.ts";
import type { Point } from "./Point.ts";
import { type Column, isUntil, type Part, type SweepFile } from "./SweepFile.ts";
import { summaryOf, type Value, valueWhenReached } from "./summary.ts";

/** The values that a finished run measured, by metric. */
export type Curves = ReadonlyMap<string, readonly Value[]>;

export interface Finished {
  readonly seed: number;
  readonly curves: Curves;
}

export interface Head {
  readonly metric: string;
  readonly of: Part;
}

export interface Row {
  readonly point: Point;
  /** Seeds of the finished runs. */
  readonly seeds: readonly number[];
  /** One for each head; null where no finished run measured it. */
  readonly cells: readonly (Interval | null)[];
}

export interface Results {
  readonly heads: readonly Head[];
  readonly rows: readonly Row[];
  /** Runs of each point. */
  readonly runs: number;
}

const headsOf = (columns: readonly Column[]): readonly Head[] =>
  columns.flatMap(({ metric, of }) => of.map((part) => ({ metric, of: part })));

/** The metrics that the columns need, each once. */
export const metricsOf = (columns: readonly Column[]): ReadonlySet<string> =>
  new Set(headsOf(columns).flatMap(({ metric, of }) => (isUntil(of) ? [metric, of.metric] : [metric])));

const cellValue = ({ metric, of }: Head, curves: Curves): number | undefined => {
  const curve = curves.get(metric) ?? [];
  return isUntil(of) ? valueWhenReached(curve, curves.get(of.metric) ?? [], of.value) : summaryOf(of ?? "last", curve);
};

const cellOf = (kind: IntervalKind, head: Head, finished: readonly Finished[]): Interval | null => {
  const values = finished.flatMap(({ curves }) => cellValue(head, curves) ?? []);
  const bounds = entryOf(head.metric)?.kind === "share" ? ofShares : undefined;
  return values.length === 0 ? null : intervalOf(kind, values, bounds);
};

/** An interval that is not one over seeds; undefined leaves it to the seeds. */
export type CellOverride = (point: Point, head: Head) => Interval | null | undefined;

export const resultsOf = (
  file: SweepFile,
  points: readonly (readonly [Point, readonly Finished[]])[],
  cellOverride: CellOverride = () => undefined,
): Results => {
  const heads = headsOf(file.metrics);
  return {
    heads,
    runs: file.seeds.length,
    rows: points.map(([point, finished]) => ({
      point,
      seeds: finished.map(({ seed }) => seed),
      cells: heads.map((head) => {
        const cell = cellOverride(point, head);
        return cell === undefined ? cellOf(file.interval, head, finished) : cell;
      }),
    })),
  };
};

/** Four significant digits, as a table shows a number. */
export const digits = (value: number): string => String(Number(value.toPrecision(4)));

const cellText = (cell: Interval | null): string => {
  if (cell === null) return "-";
  if (cell.low === null || cell.high === null) return digits(cell.mean);
  return `${digits(cell.mean)} [${digits(cell.low)}, ${digits(cell.high)}]`;
};

/** A cell of a point with so many finished runs, and how many of them it is the mean of if not of all. */
const countedText = (cell: Interval | null, runs: number): string =>
  cell === null || cell.values >= runs ? cellText(cell) : `${cellText(cell)} (${cell.values} of ${runs} runs)`;

/** The column's part of the curve in words; empty for an evaluation. */
export const partText = (part: Part): string =>
  isUntil(part) ? `until ${part.metric} is ${part.value}` : (part ?? "");

const headText = ({ metric, of }: Head): string => (of === null ? metric : `${metric} ${partText(of)}`);

/** Rows of text, the head first. */
export const textRows = ({ heads, rows, runs }: Results): readonly (readonly string[])[] => [
  ["point", "runs", ...heads.map(headText)],
  ...rows.map(({ cells, point, seeds }) => [
    point.name,
    `${seeds.length}/${runs}`,
    ...cells.map((cell) => countedText(cell, seeds.length)),
  ]),
];

const quoted = (value: unknown): string => {
  const text = typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Every key that some point sets has a column; of each head its mean, both ends and the number of runs. */
export const csvOf = ({ heads, rows }: Results): string => {
  const keys = [...new Set(rows.flatMap(({ point }) => Object.keys(point.settings)))];
  const head = [
    "point",
    ...keys,
    ...heads.flatMap((each) => [
      headText(each),
      `${headText(each)} low`,
      `${headText(each)} high`,
      `${headText(each)} runs`,
    ]),
  ];
  const lines = rows.map(({ cells, point }) => [
    point.name,
    ...keys.map((key) => point.settings[key]),
    ...cells.flatMap((cell) => (cell === null ? ["", "", "", 0] : [cell.mean, cell.low, cell.high, cell.values])),
  ]);
  return [head, ...lines].map((line) => `${line.map(quoted).join(",")}\n`).join("");
};

/** Gives the table as data, with `more` facts about the points. */
export const jsonOf = (
  name: string,
  { heads, rows, runs }: Results,
  more: Readonly<Record<string, unknown>> = {},
): string =>
  `${JSON.stringify(
    {
      sweep: name,
      runs_per_point: runs,
      points: rows.map(({ cells, point, seeds }) => ({
        name: point.name,
        settings: point.settings,
        seeds,
        results: heads.flatMap((head, at) => (cells[at] == null ? [] : [{ ...head, ...cells[at] }])),
      })),
      ...more,
    },
    null,
    2,
  )}\n`;
