/**
 * The result of a run: its end, its progress, and its validations at the start, at the best step and at the end. Pure over the
 * contents of its folder, which `readRunResult.ts` reads. Invariant: a value that the folder lacks, or that no run could have, is
 * null.
 */
import { get, type Tree } from "../../config/Tree.ts";
import { type Interval, successInterval, wilson } from "../../domain/intervals.ts";
import { episodes } from "../../domain/metrics/episodes.ts";
import { timing, windows } from "../../domain/metrics/run.ts";
import type { RunOutcome } from "../../domain/RunOutcome.ts";
import { mean } from "../../domain/Statistics.ts";
import type { CloningRecord } from "./CloningRecord.ts";

/** `Killed`: no process writes the folder any more, and no end is recorded. */
export type RunEnd = RunOutcome | { readonly _tag: "Running" } | { readonly _tag: "Killed" };

export interface ValidationResult {
  /** Null for an evaluation, which belongs to a checkpoint and not to a step. */
  readonly step: number | null;
  /** Share of successful episodes; failed episodes are left out. */
  readonly success: number;
  /** Both ends of the 95 % interval of `success`, within 0 and 1; null if the outcomes are missing. */
  readonly interval: readonly [low: number, high: number] | null;
  readonly instances: number | null;
  /** Episodes planned, of which `failed` could not be played to an end. */
  readonly episodes: number | null;
  readonly failed: number;
}

export interface CheckpointPlace {
  readonly step: number;
  readonly path: string;
}

export interface RunResult {
  /** The run's own name; its folder is `NAME/STAMP`. */
  readonly name: string;
  readonly folder: string;
  readonly kind: "training" | "evaluation" | "cloning";
  readonly end: RunEnd;
  /** Steps closed, and planned for the whole run. */
  readonly steps: { readonly done: number; readonly planned: number | null };
  /**
   * Minutes of training with its last validation, of cloning including the parts before a resume, or of an evaluation's play.
   */
  readonly minutes: number | null;
  readonly validation: {
    /** The validation of the starting weights. */
    readonly before: ValidationResult | null;
    /** The earliest validation with the highest success. */
    readonly best: ValidationResult | null;
    /** The newest validation, unless it is that of the starting weights. */
    readonly last: ValidationResult | null;
  };
  readonly checkpoint: { readonly newest: CheckpointPlace | null; readonly best: CheckpointPlace | null };
  /** Share of the training episodes that could not be played to an end. */
  readonly failedShare: number | null;
  /** Null unless `kind` is "cloning". */
  readonly cloning: CloningResult | null;
}

/** Losses in nats per token: over the last step's batch, and over the held-out conversations if there are any. */
export interface CloningResult extends Pick<CloningRecord, "loss" | "heldOutLoss" | "output" | "base"> {}

/** The plan of a run, as its config.yaml has it. */
export interface RunPlan {
  readonly name: string | null;
  readonly steps: number | null;
  readonly training: EpisodesPlan;
  readonly validation: EpisodesPlan;
}

/** The number of instances, and of episodes for each. */
interface EpisodesPlan {
  readonly instances: number | null;
  readonly groupSize: number | null;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const countOrNull = (value: unknown): number | null => (isCount(value) ? value : null);
const isShare = (value: unknown): value is number => typeof value === "number" && value >= 0 && value <= 1;
const isDuration = (value: unknown): value is number => typeof value === "number" && value >= 0 && value < 1e12;

export const planOf = (tree: Tree | null): RunPlan => {
  const name = get(tree, ["run", "name"]);
  const episodesOf = (split: "train" | "val"): EpisodesPlan => ({
    instances: countOrNull(get(tree, ["es_manager", split, "env_groups"])),
    groupSize: countOrNull(get(tree, ["es_manager", split, "group_size"])),
  });
  return {
    name: typeof name === "string" && name !== "" ? name : null,
    steps: countOrNull(get(tree, ["trainer", "total_training_steps"])),
    training: episodesOf("train"),
    validation: episodesOf("val"),
  };
};

interface ValidationRecord {
  readonly success: number;
  readonly failed: number;
}

const valSuccess = episodes.success.of({ split: "val-env" }).name;
const valFailed = episodes.failed.of({ split: "val-env" }).name;
const trainFailed = episodes.failed.of({ split: "train" }).name;

/** Collects the lines of metrics.jsonl, in their order. A repeated step replaces the earlier line. */
export class StepRecords {
  #last: Tree | null = null;
  #lastStep = 0;
  #first: unknown;
  readonly #validations = new Map<number, ValidationRecord>();
  /** Failed episodes and refilled groups by step. */
  readonly #played = new Map<number, { readonly failed: number; readonly refilled: number }>();

  add(record: Tree): void {
    const { step, time } = record;
    if (!isCount(step)) return;
    this.#first ??= time;
    this.#last = record;
    this.#lastStep = step;
    const { [trainFailed]: failed, [valFailed]: failedInValidation, [valSuccess]: success } = record;
    if (isShare(success)) {
      this.#validations.set(step, { success, failed: countOrNull(failedInValidation) ?? 0 });
    }
    if (isCount(failed)) {
      this.#played.set(step, { failed, refilled: countOrNull(record[windows.refilled.name]) ?? 0 });
    }
  }

  get step(): number {
    return this.#lastStep;
  }

  /** Steps of the validations that a result shows; null if there are none. */
  validationSteps(): { readonly before: number | null; readonly best: number | null; readonly last: number | null } {
    const steps = [...this.#validations.keys()].sort((a, b) => a - b);
    const success = (step: number): number => this.#validations.get(step)?.success ?? 0;
    const best = steps.reduce<number | null>(
      (found, step) => (found === null || success(step) > success(found) ? step : found),
      null,
    );
    const last = steps.at(-1) ?? null;
    return { before: steps[0] === 0 ? 0 : null, best, last: last === 0 ? null : last };
  }

  validation(step: number): ValidationRecord | undefined {
    return this.#validations.get(step);
  }

  minutes(): number | null {
    if (this.#last === null) return null;
    const { [timing.testing.name]: testing, [timing.total.name]: total, time } = this.#last;
    if (isDuration(total)) return (total + (isDuration(testing) ? testing : 0)) / 60;
    const first = this.#first;
    const elapsed = typeof time === "number" && typeof first === "number" ? (time - first) / 60_000 : Number.NaN;
    return isDuration(elapsed) ? elapsed : null;
  }

  failedShare({ groupSize, instances }: EpisodesPlan): number | null {
    if (groupSize === null || instances === null || this.#played.size === 0) return null;
    let [failed, episodes] = [0, 0];
    for (const step of this.#played.values()) {
      failed += step.failed;
      episodes += (instances + step.refilled) * groupSize;
    }
    const share = failed / episodes;
    return isShare(share) ? share : null;
  }
}

/** More instances than a run may have; their bootstrap would take long. */
const MOST_INSTANCES = 20_000;

/** A validation's line of validations.jsonl. */
export interface ValidationOutcomes {
  /** 1 or 0 for every episode in the order of the seeds, with 0 for failed ones. */
  readonly success: readonly number[];
  /** Each seed's instance; a seed without one is an instance of its own. */
  readonly instances: readonly unknown[];
}

/** The places of each instance's seeds. */
const seedsByInstance = (instances: readonly unknown[], seeds: number): readonly (readonly number[])[] => [
  ...Map.groupBy(
    Array.from({ length: seeds }, (_, seed) => seed),
    (seed) => instances[seed] ?? seed,
  ).values(),
];

/** The outcomes by instance; null if they do not add up to `success`. */
const byInstance = (
  outcomes: ValidationOutcomes,
  { groupSize, instances }: EpisodesPlan,
  success: number,
): readonly (readonly number[])[] | null => {
  if (groupSize === null || instances === null || groupSize < 1 || instances < 1 || instances > MOST_INSTANCES) {
    return null;
  }
  if (outcomes.success.length !== instances * groupSize) return null;
  if (Math.abs(mean(outcomes.success) - success) > 1e-6) return null;
  return seedsByInstance(outcomes.instances, instances).map((seeds) =>
    seeds.flatMap((seed) => outcomes.success.slice(seed * groupSize, (seed + 1) * groupSize)),
  );
};

const intervalOf = (
  { failed, success }: ValidationRecord,
  plan: EpisodesPlan,
  instances: readonly (readonly number[])[] | null,
): Interval | null => {
  if (instances !== null) return successInterval(instances);
  // If each instance is played once, the counts are enough for an interval.
  const usable = (plan.instances ?? 0) - failed;
  return plan.groupSize === 1 && usable > 0 ? wilson(Math.round(success * usable), usable) : null;
};

/** The result of the validation after a step; `outcomes` is null where its line is missing. */
export const validationOf = (
  step: number,
  record: ValidationRecord,
  plan: EpisodesPlan,
  outcomes: ValidationOutcomes | null,
): ValidationResult => {
  const { groupSize, instances } = plan;
  const outcomesByInstance = outcomes === null ? null : byInstance(outcomes, plan, record.success);
  const interval = intervalOf(record, plan, outcomesByInstance);
  return {
    step,
    success: record.success,
    interval: interval === null ? null : [interval.low, interval.high],
    instances: outcomesByInstance?.length ?? instances,
    episodes: instances === null || groupSize === null ? null : instances * groupSize,
    failed: record.failed,
  };
};

/** The summary of an evaluation, from its summary.json. */
export interface EvaluationResult {
  readonly isWhole: boolean;
  readonly minutes: number | null;
  readonly success: ValidationResult | null;
}

export const evaluationOf = (summary: unknown): EvaluationResult | null => {
  const at = (...path: readonly string[]): unknown => get(summary, ["evaluation", ...path]);
  const [finished, planned, failed] = [at("finished"), at("planned"), at("failed")];
  if (!isCount(finished) || !isCount(planned)) return null;
  const seconds = at("seconds");
  const [share, low, high] = ["mean", "low", "high"].map((end) => at("success", end));
  const success: ValidationResult | null = isShare(share)
    ? {
        step: null,
        success: share,
        interval: isShare(low) && isShare(high) && low <= high ? [low, high] : null,
        instances: null,
        episodes: planned,
        failed: countOrNull(failed) ?? 0,
      }
    : null;
  return { isWhole: finished === planned, minutes: isDuration(seconds) ? seconds / 60 : null, success };
};
