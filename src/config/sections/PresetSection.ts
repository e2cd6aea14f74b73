/** A preset of an environment, all but what the environment and its wrappers decode themselves. */
import { Schema } from "effect";
import { episodes, field, tokens } from "../field.ts";

/** A preset; `env_config` is decoded by the environment that `env_type` names, each of `wrappers` by the wrapper of its `type`. */
export const PresetSection = Schema.Struct({
  env_type: Schema.NonEmptyString.annotate({
    description: "An environment of the package, or the path of a module with your own, relative to the run file.",
  }),
  max_actions_per_traj: field(episodes, 10, "Environment actions per episode."),
  env_instruction: field(Schema.String, "", "The description of the task in the system prompt."),
  max_tokens: field(tokens, 100, "Length that the prompt names; it is not enforced."),
  memory: field(
    Schema.Literals(["simple", "alfworld"]),
    "simple",
    "How rollout.context=single_turn retells earlier turns in the ragen template.",
  ),
  env_config: field(Schema.Record(Schema.String, Schema.Unknown), {}, "The environment's own keys."),
  wrappers: field(
    Schema.Array(Schema.Record(Schema.String, Schema.Unknown)),
    [],
    "Wrappers of the environment, the first innermost, e.g. [{type: time_limit, max_steps: 5}].",
  ),
});

export type Preset = typeof PresetSection.Type;
