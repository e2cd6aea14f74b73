/**
 * An action that is not one of `actions(config, state)` reached `step`. The rollout checks replies before stepping, so that this is
 * a caller's mistake: `step` throws it, and `millrace trace`, which plays actions given by a person, reports it as bad input.
 */
import { Schema } from "effect";

export class IllegalAction extends Schema.TaggedError<IllegalAction>()("IllegalAction", {
  env_type: Schema.String,
  action: Schema.String,
  valid: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return `${this.env_type}: "${this.action}" is not an action; valid actions are ${this.valid.join(", ")}`;
  }
}
