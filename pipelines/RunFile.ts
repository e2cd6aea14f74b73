/** A run file from code: any part of the configuration, under the keys of a YAML run file, over a file that is named. */
import { fileURLToPath } from "node:url";
import type { Layer } from "../src/config/compose.ts";
import { withAbsoluteModulePaths } from "../src/config/modulePath.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Preset } from "../src/config/sections/PresetSection.ts";
import type { Tree } from "../src/config/Tree.ts";
import { get, merge } from "../src/config/Tree.ts";

/** Any part of a value; lists are given whole. */
export type PartOf<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]?: PartOf<Value[Key]> }
    : Value;

/** Changes of a run file. A misspelt key does not compile. */
export type RunFile = PartOf<Omit<RunConfig, "custom_envs">> & {
  readonly custom_envs?: Readonly<Record<string, PartOf<Preset>>>;
};

/** The URL or the path of a module of the user's own. A path is relative to the working directory. */
export type OwnModule = URL | string;

/** Environments of one's own by tag: modules whose default export is an environment. */
export type OwnEnvironments = Readonly<Record<string, OwnModule>>;

/** Modules that the run's threads load. */
export interface OwnModules {
  /** Environments by tag. They are what is played unless the changes name other tags. */
  readonly environments?: OwnEnvironments;
  /** An advantage estimator (`defineEstimator` of `millrace/learner`) in place of `algorithm.adv_estimator`. */
  readonly advantages?: OwnModule;
  /** A policy loss (`defineLoss` of `millrace/learner`) in place of `actor.policy_loss`. */
  readonly policyLoss?: OwnModule;
}

const pathOf = (module: OwnModule): string => (typeof module === "string" ? module : fileURLToPath(module));

/** The learner's modules under their keys. */
const learnerLayer = ({ advantages, policyLoss }: OwnModules): Tree => ({
  ...(advantages === undefined ? {} : { algorithm: { adv_estimator: "custom", custom_estimator: pathOf(advantages) } }),
  ...(policyLoss === undefined ? {} : { actor: { policy_loss: "custom", custom_loss: pathOf(policyLoss) } }),
});

/** A run plays its own environments where its changes do not say what it plays. */
const tagsLayer = (tags: readonly string[]): Tree => ({
  es_manager: Object.fromEntries(["train", "val"].map((side) => [side, { tags }])),
});

/** The changes as a layer over the named run file. */
export const layerOf = (changes: RunFile, modules: OwnModules): Layer => {
  const { environments = {} } = modules;
  const tags = Object.keys(environments);
  const presets = Object.entries(environments).map(([tag, module]) => [tag, { env_type: pathOf(module) }] as const);
  const presetsLayer: Tree = tags.length === 0 ? {} : { custom_envs: Object.fromEntries(presets) };
  const saysTags = ["train", "val"].some((side) => get(changes, ["es_manager", side, "tags"]) !== undefined);
  const defaults = tags.length === 0 || saysTags ? {} : tagsLayer(tags);
  const tree = [defaults, changes, presetsLayer, learnerLayer(modules)].reduce(
    (under: Tree, over) => merge(under, over),
    {},
  );
  return { origin: "code", tree: withAbsoluteModulePaths(tree, process.cwd()) };
};
