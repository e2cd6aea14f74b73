/**
 * Rules for RAGEN's and verl's values without one counterpart: -1 for never, switches over another key, shares of the steps.
 * They are applied when all layers are merged. Pure.
 */
import { showValue } from "../show.ts";
import type { Change, Tree } from "../Tree.ts";
import { get, removeAll, setAll } from "../Tree.ts";

/** Foreign keys that rules apply. */
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
  /** One line for each rule that changed a meaning. */
  readonly notes: readonly string[];
  readonly problems: readonly string[];
  /** True if the file asks for a validation without training. */
  readonly isValidationOnly: boolean;
}

/** The changes that one rule makes to the merged layers. */
interface Decision {
  readonly set?: readonly Change[];
  /** Keys that are reset to their defaults. */
  readonly unset?: readonly string[];
  readonly note?: string;
  readonly problem?: string;
}

type Rule = (tree: Tree, foreign: Tree) => Decision;

const readKey = (tree: Tree, key: string): unknown => get(tree, key.split("."));
const change = (key: string, value: unknown): Change => ({ path: key.split("."), value });
const isNegative = (value: unknown): boolean => typeof value === "number" && value < 0;

/** A negative trainer.test_freq also means no validation at the end. */
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

/** Without a reference policy RAGEN drops the KL loss; a divergence in the reward is a contradiction. */
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

/** verl uses the ratio if the number of warm-up steps is negative. */
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

/** True if the run only analyses gradients, whichever tree sets the key. */
const onlyAnalyses = (tree: Tree, foreign: Tree): boolean =>
  [tree, foreign].some((layer) => readKey(layer, "trainer.gradient_analysis_only") === true);

/** A run that trains nothing takes only the weights of the checkpoint it resumes. */
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

/** Turns numbers into texts where a text is expected: RAGEN names an experiment 2048. */
const numbersAsText: Rule = (tree) => ({
  set: ["run.name", "metrics.wandb.project"].flatMap((key) => {
    const found = readKey(tree, key);
    return typeof found === "number" || typeof found === "boolean" ? [change(key, String(found))] : [];
  }),
});

/** RAGEN writes evaluations as pickles; JSON lines replace them. */
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

/** `tree` has our keys and `foreign` the others; references are resolved in both. */
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
