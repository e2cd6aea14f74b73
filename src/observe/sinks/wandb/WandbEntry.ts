/**
 * The entries of a `.wandb` file: those of W&B's records that our runs need. Times are milliseconds since the Unix epoch.
 */
import type { Item } from "./Json.ts";

/** First of a file; `producer` is who writes it. */
export interface HeaderEntry {
  readonly _tag: "Header";
  readonly producer: string;
}

export interface RunEntry {
  readonly _tag: "Run";
  readonly id: string;
  /** Empty for the default of who uploads it. */
  readonly entity: string;
  readonly project: string;
  readonly config: readonly Item[];
  readonly group: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly host: string;
  readonly started: number;
}

/** Values of the run's configuration that have changed. */
export interface ConfigEntry {
  readonly _tag: "Config";
  readonly items: readonly Item[];
}

export interface EnvironmentEntry {
  readonly _tag: "Environment";
  readonly os: string;
  readonly program: string;
  readonly host: string;
  readonly started: number;
  readonly cpus: number;
  readonly memoryBytes: number;
}

/** The display of a metric: its x axis, and whether it has a chart of its own. */
export interface MetricEntry {
  readonly _tag: "Metric";
  /** A name, or all that begin with it where it ends with `*`. */
  readonly name: string;
  /** Empty for none. */
  readonly stepMetric: string;
  readonly hidden: boolean;
}

export interface HistoryEntry {
  readonly _tag: "History";
  readonly step: number;
  readonly items: readonly Item[];
}

export interface SummaryEntry {
  readonly _tag: "Summary";
  readonly items: readonly Item[];
}

/** Metrics of the process and its machine. */
export interface StatsEntry {
  readonly _tag: "Stats";
  readonly time: number;
  readonly items: readonly Item[];
}

/** A line of the console, without its newline. */
export interface OutputEntry {
  readonly _tag: "Output";
  readonly time: number;
  readonly line: string;
}

/** An alert for the run's owner, by mail or chat as W&B is set up. */
export interface AlertEntry {
  readonly _tag: "Alert";
  readonly title: string;
  readonly text: string;
}

/** Files of the run's `files` folder that belong to it. */
export interface FilesEntry {
  readonly _tag: "Files";
  readonly paths: readonly string[];
}

/** The run has ended; a file without it is that of a crashed run. */
export interface ExitEntry {
  readonly _tag: "Exit";
  readonly code: number;
  readonly seconds: number;
}

export interface FinalEntry {
  readonly _tag: "Final";
}

export interface FooterEntry {
  readonly _tag: "Footer";
}

export type WandbEntry =
  | HeaderEntry
  | RunEntry
  | ConfigEntry
  | EnvironmentEntry
  | MetricEntry
  | HistoryEntry
  | SummaryEntry
  | StatsEntry
  | OutputEntry
  | AlertEntry
  | FilesEntry
  | ExitEntry
  | FinalEntry
  | FooterEntry;
