/** `env_config` of ALFWorld; keys and defaults are RAGEN's. The games, and the file that lists them (RAGEN's config_file), are the server's. */
import { Schema } from "effect";
import { field, reward } from "../../../config/field.ts";
import { connection } from "../../openenv/Connection.ts";
import { renderMode } from "../GridText.ts";

export const AlfworldConfig = Schema.Struct({
  ...connection("http://127.0.0.1:8002"),
  score: field(reward, 10, "Reward of a task that is done."),
  eval_dataset: field(
    Schema.Literals(["eval_in_distribution", "eval_out_of_distribution"]),
    "eval_in_distribution",
    "Games validation plays; training plays those of train.",
  ),
  render_mode: renderMode,
});
export type AlfworldConfig = typeof AlfworldConfig.Type;
