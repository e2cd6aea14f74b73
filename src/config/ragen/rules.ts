/**
 * RAGEN's and verl's values that mean something else than a value of one key of ours, settled when all layers are merged: -1 for never, a
 * switch that decides over another key, a share of the steps. Pure.
 */
import { showValue } from "../show.ts";
import type { Change, Tree } from "../Tree.ts";
import { get, removeAll, setAll } from "../Tree.ts";

/** Keys that have no single key of ours and are applied here. */
export const ruleKeys: readonly string[] = [
  "actor_rollout_ref.actor.use_ref",
  "actor_rollout_ref.actor.optim.lr_warmup_steps_ratio",
  "actor_rollout_ref.rollout.val_kwargs.do_sample",
  "critic.optim.lr_warmup_steps_ratio",
  "trainer.resume_from_path",
  "trainer.resume_mode",
  "trainer.val_only",
];

export interface RuleResult {
  readonly tree: Tree;
  /** What was decided, one line each. */
  readonly notes: readonly string[];
  readonly problems: readonly string[];
  /** The file asks for a validation and no training. */
  readonly isValidationOnly: boolean;
}

/** What one rule makes of the merged layers. */
interface Decision {
  readonly set?: readonly Change[];
  /** Keys that go back to their defaults. */
  readonly unset?: readonly string[];
  readonly note?: string;
  readonly problem?: string;
}

type Rule = (tree: Tree, foreign: Tree) => Decision;

const readKey = (tree: Tree, key: string): unknown => get(tree, key.split("."));
const change = (key: string, value: unknown): Change => ({ path: key.split("."), value });
const isNegative = (value: unknown): boolean => typeof value === "number" && value < 0;

/** Not even at the end. */
const noValidation: Rule = (tree) => {
  if (!isNegative(readKey(tree, "trainer.test_freq"))) return {};
  const never = change("trainer.test_freq", 0);
  return {
    set: readKey(tree, "trainer.val_at_end") === undefined ? [never, change("trainer.val_at_end", false)] : [never],
  };
};

const noCheckpoints: Rule = (tree) =>
  isNegative(readKey(tree, "trainer.save_freq"))
    ? { set: [change("trainer.save_freq", 0)], note: "trainer.save_freq: -1: only the last weights are saved" }
    : {};

/** Without a reference policy RAGEN switches the KL loss off; a divergence in the reward has nothing to be measured from. */
const noReference: Rule = (tree, foreign) => {
  if (readKey(foreign, "actor_rollout_ref.actor.use_ref") !== false) return {};
  if (readKey(tree, "algorithm.use_kl_in_reward") === true) {
    return {
      problem:
        "actor_rollout_ref.actor.use_ref: false: algorithm.use_kl_in_reward needs a reference policy; nearest: true",
    };
  }
  if (readKey(tree, "actor.use_kl_loss") !== true) return {};
  const note = "actor_rollout_ref.actor.use_ref: false: actor.use_kl_loss is false, as there is no reference policy";
  return { set: [change("actor.use_kl_loss", false)], note };
};

const greedyValidation: Rule = (_, foreign) =>
  readKey(foreign, "actor_rollout_ref.rollout.val_kwargs.do_sample") === false
    ? { set: [change("es_manager.val.temperature", 0)] }
    : {};

/** verl takes a share of the steps where the number of them is negative. */
const warmup =
  (side: "actor" | "critic", share: string): Rule =>
  (tree, foreign) => {
    const key = `${side}.lr_warmup_steps`;
    const steps = readKey(tree, key);
    if (steps !== undefined && !isNegative(steps)) return {};
    const ratio = readKey(foreign, share) ?? 0;
    const total = readKey(tree, "trainer.total_training_steps") ?? 200;
    if (typeof ratio !== "number" || !(ratio >= 0 && ratio <= 1)) {
      return { problem: `${share}: ${showValue(ratio)}: expected a number from 0 to 1; nearest: 0` };
    }
    if (typeof total !== "number") return {};
    return steps === undefined && ratio === 0 ? {} : { set: [change(key, Math.floor(ratio * total))] };
  };

const asksForValidationOnly = (tree: Tree, foreign: Tree): boolean =>
  readKey(foreign, "trainer.val_only") === true || readKey(tree, "trainer.total_training_steps") === 0;

/** A run that only looks at gradients, whoever has the key. */
const onlyAnalyses = (tree: Tree, foreign: Tree): boolean =>
  [tree, foreign].some((layer) => readKey(layer, "trainer.gradient_analysis_only") === true);

/** Where nothing is trained, a checkpoint to go on from is its weights. */
const resume: Rule = (tree, foreign) => {
  const mode = readKey(foreign, "trainer.resume_mode") ?? "auto";
  if (mode === "auto" || mode === "disable") return {};
  const path = readKey(foreign, "trainer.resume_from_path");
  const untrained = asksForValidationOnly(tree, foreign) || onlyAnalyses(tree, foreign);
  if (mode === "resume_path" && typeof path === "string" && untrained) {
    const note = `trainer.resume_from_path: ${showValue(path)}: its policy is taken (model.path); a critic begins anew`;
    return { set: [change("model.path", path)], note };
  }
  const instead = "go on with --resume RUN, or take the weights of a checkpoint with model.path";
  return { problem: `trainer.resume_mode: ${showValue(mode)}: a run file does not resume: ${instead}` };
};

const noSteps: Rule = (tree, foreign) =>
  asksForValidationOnly(tree, foreign) && readKey(tree, "trainer.total_training_steps") === 0
    ? { unset: ["trainer.total_training_steps"] }
    : {};

/** Numbers where the key is a text: RAGEN calls an experiment 2048. */
const numbersAsText: Rule = (tree) => ({
  set: ["run.name", "metrics.wandb.project"].flatMap((key) => {
    const found = readKey(tree, key);
    return typeof found === "number" || typeof found === "boolean" ? [change(key, String(found))] : [];
  }),
});

/** RAGEN's evaluations are pickles; what is in them is written as text. */
const pickles: Rule = (tree) =>
  readKey(tree, "output.format") === "pkl"
    ? { set: [change("output.format", "jsonl")], note: "output.format: pkl: episodes are written as JSON lines" }
    : {};

const rules: readonly Rule[] = [
  noValidation,
  noCheckpoints,
  noReference,
  greedyValidation,
  warmup("actor", "actor_rollout_ref.actor.optim.lr_warmup_steps_ratio"),
  warmup("critic", "critic.optim.lr_warmup_steps_ratio"),
  resume,
  noSteps,
  numbersAsText,
  pickles,
];

/** `tree` has our keys, `foreign` those that have none; references are replaced in both. */
export const applyRules = (tree: Tree, foreign: Tree): RuleResult => {
  const decisions = rules.map((rule) => rule(tree, foreign));
  const set = setAll(
    tree,
    decisions.flatMap((decision) => decision.set ?? []),
  );
  const unset = decisions.flatMap((decision) => decision.unset ?? []).map((key) => key.split("."));
  return {
    tree: removeAll(set, unset),
    notes: decisions.flatMap(({ note }) => (note === undefined ? [] : [note])),
    problems: decisions.flatMap(({ problem }) => (problem === undefined ? [] : [problem])),
    isValidationOnly: asksForValidationOnly(tree, foreign),
  };
};
