/**
 * The error that `step` throws for an action that `actions(config, state)` does not list. The rollout checks replies before stepping, so
 * the caller has made a mistake. `millrace trace`, which plays actions given by a person, reports it as bad input.
 */
import * as Schema from "effect/Schema";

/** The error that `step` throws for an action that `actions` does not list. */
export class IllegalAction extends Schema.TaggedError<IllegalAction>()("IllegalAction", {
  env_type: Schema.String,
  action: Schema.String,
  valid: Schema.Array(Schema.String),
  /** Says what is wrong with a call of a tool. */
  reason: Schema.optionalKey(Schema.String),
}) {
  override get message(): string {
    if (this.reason !== undefined) return `${this.env_type}: ${this.action}: ${this.reason}`;
    return `${this.env_type}: "${this.action}" is not an action; valid actions are ${this.valid.join(", ")}`;
  }
}
