/** `env_config` of a remote environment: where its server is, and the form of observations and actions of a server that is not ours. */
import { Schema } from "effect";
import { field, reward } from "../../config/field.ts";
import { connection } from "./Connection.ts";

export const RemoteConfig = Schema.Struct({
  ...connection("http://127.0.0.1:8000"),
  reset_options: field(Schema.Record(Schema.String, Schema.Unknown), {}, "Further keys of every reset."),
  stream_keys: field(
    Schema.Boolean,
    true,
    "Whether a reset carries the instance's stream and a step its noise; only a server of ours draws from them.",
  ),
  action_field: field(Schema.NonEmptyString, "action", "Field of the server's action that takes the text."),
  action_form: field(
    Schema.Literals(["text", "number", "json"]),
    "text",
    "What the field takes: the text, the number it says, or (json) the text is the whole action.",
  ),
  observation_field: field(
    Schema.String,
    "",
    "Field of the observation that is shown; empty: text, prompt, message or question, else the whole of it as JSON.",
  ),
  legal_actions_field: field(
    Schema.String,
    "",
    "Field of the observation that lists the legal actions; empty: they are free text, unless a server of ours lists them.",
  ),
  success_reward: field(
    reward,
    1,
    "The least last reward of an episode that counts as success, where the server does not say.",
  ),
  whole_answer: field(
    Schema.Boolean,
    false,
    "Whether the answer of a reply is one action, whatever stands in it; a server of ours says so itself.",
  ),
  legend: field(
    Schema.String,
    "",
    "Lines of the system prompt that explain the observations; empty: those of a server of ours, else none.",
  ),
});
export type RemoteConfig = typeof RemoteConfig.Type;
