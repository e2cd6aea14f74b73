/** A report's data on its runs: a part of what the page would request. Parts that were left out are counted. */
import type { EpisodeRecord } from "../../../../domain/EpisodeRecord.ts";
import type {
  Curves,
  EpisodeCard,
  LineView,
  Mark,
  MetricCard,
  RunCard,
  RunSummary,
  Scenes,
  WindowView,
} from "../../Api.ts";

export interface ChosenGroup {
  /** The reasons why it is shown, a few words each. */
  readonly why: readonly string[];
  /** The episode that was chosen. */
  readonly card: EpisodeCard;
  readonly records: readonly EpisodeRecord[];
  /** Episodes of the group that are left out for their size. */
  readonly leftOut: number;
}

/** Parts of the policy's loss whose gradients are told apart. */
export const parts = ["task", "entropy", "kl"] as const;
export type Part = (typeof parts)[number];

/** Gradient norms of a step; null where a bucket has no such part. */
export interface Decomposition {
  readonly step: number;
  readonly buckets: readonly ({ readonly name: string } & Readonly<Record<Part, number | null>>)[];
}

export interface ReportRun {
  readonly card: RunCard;
  /** The result of the run, without its folder. */
  readonly summary: Omit<RunSummary, "folder">;
  /** The run file; null where it cannot be read. */
  readonly config: string | null;
  readonly curves: Curves;
  /** Some of the analysed steps, evenly chosen. */
  readonly gradients: readonly Decomposition[];
  /** Evenly chosen windows. */
  readonly windows: readonly WindowView[];
  readonly marks: readonly Mark[];
  /** The line as it was last; null of a run without events. */
  readonly line: LineView | null;
  readonly scenes: Scenes;
  readonly groups: readonly ChosenGroup[];
  readonly counts: {
    /** Episodes that the run recorded. */
    readonly episodes: number;
    /** Marks that are left out, the oldest. */
    readonly marksLeftOut: number;
    /** Chosen groups that are left out for their size, or for a text that is private. */
    readonly groupsLeftOut: number;
  };
}

export interface ReportData {
  /** Milliseconds since the Unix epoch. */
  readonly written: number;
  readonly version: string;
  readonly metrics: readonly MetricCard[];
  readonly runs: readonly ReportRun[];
}
