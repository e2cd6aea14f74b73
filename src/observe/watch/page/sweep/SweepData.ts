/** The data of a sweep's page: its table, and the curves of each point over its finished runs. */
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

/** An evaluated point less another, over the instances that both played. */
export interface SweepPair {
  readonly name: string;
  readonly against: string;
  readonly instances: number;
  /** Differences with both ends of their intervals; the return is null where it is not known. */
  readonly success: SweepCell;
  readonly return: SweepCell | null;
  /** The p-value of McNemar's exact test; null if instances were played more than once. */
  readonly p: number | null;
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
  /** The result of a sweep of evaluations, which has no curves; absent for a sweep that trains. */
  readonly pairs?: readonly SweepPair[];
}
