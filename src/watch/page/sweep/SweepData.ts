/** What the page of a sweep holds: its table, and the curves of each point over its finished runs. */
import type { Curves, MetricCard } from "../../Api.ts";

/** A mean over runs; the ends of its interval are null of one run. */
export interface SweepCell {
  readonly mean: number;
  readonly low: number | null;
  readonly high: number | null;
}

export interface SweepPoint {
  readonly name: string;
  /** Finished runs. */
  readonly runs: number;
  /** One for each head; null where nothing was measured. */
  readonly cells: readonly (SweepCell | null)[];
  /** Mean, least and greatest value over the runs at each step. */
  readonly curves: Curves;
}

export interface SweepData {
  /** Milliseconds since the Unix epoch. */
  readonly written: number;
  readonly version: string;
  readonly name: string;
  /** Runs of each point. */
  readonly runs: number;
  /** The sweep file. */
  readonly file: string;
  readonly interval: string;
  /** Columns: a metric, and what of its curve. */
  readonly heads: readonly { readonly metric: string; readonly of: string }[];
  readonly metrics: readonly MetricCard[];
  readonly points: readonly SweepPoint[];
}
