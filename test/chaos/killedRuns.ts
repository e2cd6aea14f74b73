/** The runs that are killed: settings of what is played and trained, under each way in which rollouts and updates take turns. */
import { merge, type Tree } from "../../src/config/Tree.ts";
import { presets } from "../env/contract/presets.ts";

export const steps = 12;

/** Settings of every run: a validation beside the rollouts after every step, and fewer slots than sequences, so that caches are fed again. */
export const cramped = {
  trainer: { total_training_steps: steps, test_freq: 1 },
  es_manager: { val: { env_groups: 6, n_groups: [6] } },
  rollout: { max_turn: 3 },
  generation: { slots: 4 },
} satisfies Tree;

const tagged = (tags: readonly string[]): Tree => ({
  train: { tags, n_groups: tags.map(() => 2 / tags.length) },
  val: { tags, n_groups: tags.map(() => 6 / tags.length) },
});

const agent: Tree = {
  agent: { path: new URL("./sumAgent.ts", import.meta.url).pathname },
  es_manager: tagged(["Agent"]),
};

const contexts: readonly Tree[] = [
  {},
  { rollout: { context: "limited_multi_turn", max_context_window: 3 } },
  { rollout: { context: "single_turn", max_context_window: 2 } },
  { rollout: { max_model_len: 110, overflow: "drop" } },
];

/** An adapter, two tags, an agent, and an agent whose windows ask for more groups. */
const others: readonly Tree[] = [
  { model: { lora: { rank: 4, alpha: 8 } } },
  {
    es_manager: tagged(["FrozenLake", "SimpleSokoban"]),
    custom_envs: { SimpleSokoban: { ...presets.SimpleSokoban } },
  },
  agent,
  merge(agent, { filter: { strategy: "top_k", value: 0.5, include_zero: false, refill: { target: 2, rounds: 1 } } }),
];

/** A way in which rollouts and updates take turns, and whether a run promises its bits. */
export interface Schedule {
  readonly pipeline: Tree;
  readonly isPromised: boolean;
}

export const schedules: readonly Schedule[] = [
  { pipeline: { mode: "sync" }, isPromised: true },
  { pipeline: { mode: "async" }, isPromised: false },
  { pipeline: { mode: "async", schedule: "fixed_lag", max_staleness: 2 }, isPromised: true },
];

export interface KilledRun {
  readonly changes: Tree;
  readonly isPromised: boolean;
}

const under = (setting: Tree, { isPromised, pipeline }: Schedule): KilledRun => ({
  changes: merge(merge(cramped, setting), { pipeline }),
  isPromised,
});

/** Returns every context mode under every schedule, and each other setting under all of them or under one, which the seed chooses. */
export const killedRuns = (seed: number, isWhole: boolean): readonly KilledRun[] => [
  ...contexts.flatMap((setting) => schedules.map((schedule) => under(setting, schedule))),
  ...others.flatMap((setting, index) =>
    schedules
      .filter((_, schedule) => isWhole || (index + seed) % schedules.length === schedule)
      .map((schedule) => under(setting, schedule)),
  ),
];
