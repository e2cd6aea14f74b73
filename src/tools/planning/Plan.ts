/**
 * The memory and the speed to expect of a run, before it runs: the items of its owners, and the most of them at one time. For each key that
 * can be turned down, the plan is made again with it changed, which gives the saving. Pure.
 */
import { isLearnerRemote } from "../../config/checks/learner.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { adapterFromKeys } from "../../model/graphs/Adapter.ts";
import { deviceItems } from "./DeviceOwners.ts";
import { Models } from "./Models.ts";
import { type During, type Item, items } from "./Owners.ts";
import type { PlannedRun } from "./PlannedRun.ts";
import { remedies } from "./remedies.ts";
import { type Speed, speedOf, type Unit } from "./Speed.ts";

/** A key with another value, and the bytes that the peak would be lower. */
export interface Saving {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly bytes: number;
}

export interface Plan {
  readonly pipeline: PlannedRun["pipeline"];
  readonly items: readonly Item[];
  /** Memory on a device beside the host's. The values of passes there are among `items`, as if they were in host memory. */
  readonly device: readonly Item[];
  /** The most at one time. */
  readonly peak: number;
  /** Null where the machine was not measured, where a server trains, and of a run that does not train. */
  readonly speed: Speed | null;
  /** The largest first; one for each key. */
  readonly savings: readonly Saving[];
}

export interface PlanOptions {
  /** Null where the machine was not measured. */
  readonly unit?: Unit | null;
  /** May be shared with other plans. */
  readonly models?: Models;
}

const sum = (parts: readonly Item[], during: During): number =>
  parts.reduce((total, item) => total + (item.during === during ? item.bytes : 0), 0);

/** In async mode updates go on beside rollouts, in the others by turns. */
export const peakOf = (parts: readonly Item[], mode: RunConfig["pipeline"]["mode"]): number => {
  const update = sum(parts, "update");
  const rollout = sum(parts, "rollout");
  return sum(parts, "always") + (mode === "async" ? update + rollout : Math.max(update, rollout));
};

/** The run with the adapter that it trains, where the run file asks for a fresh one. An evaluation has only one that is there. */
const adapted = (run: PlannedRun): PlannedRun => {
  const { config, decoder, pipeline } = run;
  const adapter = decoder.adapter ?? (pipeline === "evaluate" ? undefined : adapterFromKeys(config.model.lora));
  return adapter === undefined ? run : { ...run, decoder: { ...decoder, adapter } };
};

/** The peak alone. */
export const expectedPeak = (run: PlannedRun, models = new Models()): number =>
  peakOf(items(adapted(run), models), run.config.pipeline.mode);

/** A saving that is worth a line. */
const LEAST_SAVING = 2 ** 20;

export const plan = (run: PlannedRun, { models = new Models(), unit = null }: PlanOptions = {}): Plan => {
  const adaptedItems = items(adapted(run), models);
  const peak = peakOf(adaptedItems, run.config.pipeline.mode);
  const savings = remedies(run.config)
    .map(({ config, ...key }) => ({ ...key, bytes: peak - expectedPeak({ ...run, config }, models) }))
    .filter(({ bytes }) => bytes >= LEAST_SAVING)
    .sort((a, b) => b.bytes - a.bytes);
  const isTrainedHere = run.pipeline === "train" && !isLearnerRemote(run.config.model);
  return {
    pipeline: run.pipeline,
    items: adaptedItems,
    device: deviceItems(adapted(run)),
    peak,
    speed: unit !== null && isTrainedHere ? speedOf(adapted(run), models, unit) : null,
    savings,
  };
};
