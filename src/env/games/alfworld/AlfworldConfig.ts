/** `env_config` of ALFWorld; keys and defaults are RAGEN's. The server has the games, and the file that lists them (RAGEN's config_file). */
import { Schema } from "effect";
import { field, reward } from "../../../config/field.ts";
import { connectionKeys } from "../../openenv/Connection.ts";
import { renderMode } from "../GridText.ts";

export const AlfworldConfig = Schema.Struct({
  ...connectionKeys("http://127.0.0.1:8002"),
  score: field(reward, 10, "Reward of a task that is done."),
  eval_dataset: field(
    Schema.Literals(["eval_in_distribution", "eval_out_of_distribution"]),
    "eval_in_distribution",
    "Set of games that validation plays; training plays the set train.",
  ),
  render_mode: renderMode,
});
export type AlfworldConfig = typeof AlfworldConfig.Type;
