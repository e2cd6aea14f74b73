/**
 * A task: what a prompt says of an environment preset besides its state, and how its replies are read. Made of a preset of the run
 * file and its environment; constant over a run.
 */
import { withLevels } from "../config/levels.ts";
import { isModulePath } from "../config/modulePath.ts";
import type { Preset, RunConfig } from "../config/RunConfig.ts";
import type { Tool } from "../domain/Conversation.ts";
import type { Introduction } from "../env/contract/AsyncEnvironment.ts";

export interface Task {
  readonly tag: string;
  /** The kind of environment, as it calls itself. */
  readonly kind: string;
  readonly instruction: string;
  /** The environment is a user's own module, which no shipped model knows. */
  readonly isCustom: boolean;
  /** The environment's own lines on symbols and coordinates; may be empty. */
  readonly legend: string;
  /** A reply's answer is one action, not a list of them. */
  readonly wholeAnswer: boolean;
  /** Rewards are whole numbers, and shown so. */
  readonly wholeRewards: boolean;
  /** The state's text names the actions; the system message does not. */
  readonly actionsInState: boolean;
  /** Tools that the model is offered in place of text actions; absent for text actions. */
  readonly tools?: readonly Tool[];
  /** Environment actions per episode. */
  readonly maxActions: number;
  /** Length named in the prompt; never a limit. */
  readonly maxTokens: number;
  /** The way in which `single_turn` prompts tell of earlier turns. */
  readonly memory: Preset["memory"];
}

export const fromPreset = (
  tag: string,
  preset: Preset,
  { actionsInState, legend, tools, type, wholeAnswer, wholeRewards }: Introduction,
): Task => ({
  tag,
  kind: type,
  instruction: preset.env_instruction,
  isCustom: isModulePath(preset.env_type),
  legend,
  wholeAnswer,
  wholeRewards,
  actionsInState,
  maxActions: preset.max_actions_per_traj,
  maxTokens: preset.max_tokens,
  memory: preset.memory,
  ...(tools === undefined ? {} : { tools }),
});

/** The tasks of the presets and levels that have an environment. */
export const tasksOf = (
  presets: RunConfig["custom_envs"],
  environments: ReadonlyMap<string, Introduction>,
): readonly Task[] => {
  const all = withLevels(presets);
  return [...environments].flatMap(([tag, environment]) => {
    const preset = all[tag];
    return preset === undefined ? [] : [fromPreset(tag, preset, environment)];
  });
};
