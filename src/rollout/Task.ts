/**
 * A task: what a prompt says of an environment preset besides its state, and how its replies are read. Made of a preset of the run
 * file and its environment; constant over a run.
 */
import type { Preset } from "../config/RunConfig.ts";
import type { Shown } from "../env/BoundEnvironment.ts";

export interface Task {
  readonly tag: string;
  /** The kind of environment, as it calls itself. */
  readonly kind: string;
  readonly instruction: string;
  /** The environment's own lines on symbols and coordinates; may be empty. */
  readonly legend: string;
  /** A reply's answer is one action, not a list of them. */
  readonly wholeAnswer: boolean;
  /** Environment actions per episode. */
  readonly maxActions: number;
  /** Length named in the prompt; never a limit. */
  readonly maxTokens: number;
  /** How prompts that are no chat tell of earlier turns. */
  readonly memory: Preset["memory"];
}

export const fromPreset = (
  tag: string,
  preset: Preset,
  { legend, type, wholeAnswer }: Pick<Shown, "legend" | "type" | "wholeAnswer">,
): Task => ({
  tag,
  kind: type,
  instruction: preset.env_instruction,
  legend,
  wholeAnswer,
  maxActions: preset.max_actions_per_traj,
  maxTokens: preset.max_tokens,
  memory: preset.memory,
});
