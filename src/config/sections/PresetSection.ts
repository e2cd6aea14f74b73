/**
 * A preset of `custom_envs`. The environment that `env_type` names decodes `env_config`; the wrapper of each `type` decodes its entry of
 * `wrappers`.
 */
import { Schema } from "effect";
import { episodes, field, tokens } from "../field.ts";

export const PresetSection = Schema.Struct({
  env_type: Schema.NonEmptyString.annotate({
    description: "An environment of the package, or the path of a module with your own, relative to the run file.",
  }),
  max_actions_per_traj: field(episodes, 10, "Most environment actions per episode."),
  env_instruction: field(Schema.String, "", "Description of the task in the system prompt."),
  max_tokens: field(tokens, 100, "Reply length in tokens that the prompt asks for; it is not enforced."),
  memory: field(
    Schema.Literals(["simple", "alfworld"]),
    "simple",
    "Form in which rollout.context=single_turn retells earlier turns in the ragen template.",
  ),
  env_config: field(
    Schema.Record(Schema.String, Schema.Unknown),
    {},
    "Keys of the environment itself (millrace envs).",
  ),
  levels: field(
    Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown)),
    {},
    "Levels by name, each with the keys of env_config that it changes, e.g. { easy: { size: 3 }, hard: { size: 6 } }; es_manager.train.sampler chooses among them.",
  ),
  wrappers: field(
    Schema.Array(Schema.Record(Schema.String, Schema.Unknown)),
    [],
    "Wrappers of the environment, the first innermost, e.g. [{type: time_limit, max_steps: 5}].",
  ),
});

/** A preset of an environment, as `custom_envs` has it under its tag. */
export type Preset = typeof PresetSection.Type;
