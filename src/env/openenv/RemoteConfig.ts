/** `env_config` of a remote environment: its server, and the form of observations and actions of a server that is not Millrace's. */
import { Schema } from "effect";
import { field, reward } from "../../config/field.ts";
import { connectionKeys } from "./Connection.ts";

export const RemoteConfig = Schema.Struct({
  ...connectionKeys("http://127.0.0.1:8000"),
  reset_options: field(Schema.Record(Schema.String, Schema.Unknown), {}, "Further keys of every reset."),
  stream_keys: field(
    Schema.Boolean,
    true,
    "If true, a reset carries the instance's stream and a step its noise; only a Millrace server draws from them.",
  ),
  action_field: field(Schema.NonEmptyString, "action", "Field of the server's action that takes the text."),
  action_form: field(
    Schema.Literals(["text", "number", "json"]),
    "text",
    "Form of an action: text puts the text into action_field, number puts its number there, and json takes the text as the whole action.",
  ),
  observation_field: field(
    Schema.String,
    "",
    "Field of the observation that prompts show; empty takes text, prompt, message or question, else the whole observation as JSON.",
  ),
  legal_actions_field: field(
    Schema.String,
    "",
    "Field of the observation that lists the legal actions; empty means free text, unless a Millrace server lists them.",
  ),
  success_reward: field(
    reward,
    1,
    "The least last reward of an episode that counts as success, if the server does not report success.",
  ),
  whole_answer: field(
    Schema.Boolean,
    false,
    "If true, the whole answer of a reply is one action; a Millrace server says so itself.",
  ),
  legend: field(
    Schema.String,
    "",
    "Lines of the system prompt that explain the observations; empty takes those of a Millrace server, else none.",
  ),
});
export type RemoteConfig = typeof RemoteConfig.Type;
