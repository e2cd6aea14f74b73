/**
 * The keys of a run file that decide which replies a policy gives, and which updates follow from them. Replies that were logged under other
 * values of these keys are not used. Invariant: a key counts unless it is known to change neither.
 */
import { Schema } from "effect";
import { RunConfig } from "../../../config/RunConfig.ts";
import { isTree } from "../../../config/Tree.ts";

/** Sections and keys that change neither replies nor updates. A key of `trainer` or `pipeline` that does is named below. */
const indifferent: readonly string[] = [
  "run.name",
  "run.dir",
  "run.memory_check",
  "trainer",
  "pipeline",
  "model.generator_threads",
  "model.learner_lanes",
  "generation.slots",
  "diagnostics",
  "sft",
  "metrics",
  "evaluation",
  "output",
];

const TOTAL_STEPS = "trainer.total_training_steps";

const deciding: readonly string[] = [
  "trainer.gradient_analysis_only",
  "pipeline.mode",
  "pipeline.max_staleness",
  "pipeline.schedule",
  "pipeline.window_order",
];

const isWithin = (key: string, places: readonly string[]): boolean =>
  places.some((place) => key === place || key.startsWith(`${place}.`));

/** The number of steps decides updates where the learning rate decays over it; elsewhere a run may be made longer. */
const decides = (key: string, { actor }: RunConfig): boolean =>
  key === TOTAL_STEPS ? actor.lr_decay !== "constant" : isWithin(key, deciding) || !isWithin(key, indifferent);

/** The values by key, as JSON text. */
export type KeyValues = Readonly<Record<string, string>>;

const leavesOf = (value: unknown, key: string): readonly (readonly [string, string])[] =>
  isTree(value)
    ? Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, key === "" ? name : `${key}.${name}`))
    : [[key, JSON.stringify(value) ?? "null"]];

/** The deciding keys of a configuration. */
export const decidingKeys = (config: RunConfig): KeyValues =>
  Object.fromEntries(
    leavesOf(Schema.encodeSync(RunConfig)(config, { disableChecks: true }), "").filter(([key]) => decides(key, config)),
  );

/** The first key that differs; undefined if none does. */
export const differingKey = (before: KeyValues, now: KeyValues): string | undefined =>
  [...new Set([...Object.keys(now), ...Object.keys(before)])].find((key) => before[key] !== now[key]);
