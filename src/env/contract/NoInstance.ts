/**
 * No instance was found in a bounded number of draws under a configuration that its schema accepts (a search too
 * shallow to move every box, ice with hardly a frozen cell). Thrown by `reset`.
 */
import { Schema } from "effect";

export class NoInstance extends Schema.TaggedError<NoInstance>()("NoInstance", {
  env_type: Schema.String,
  draws: Schema.Number,
}) {
  override get message(): string {
    return `${this.env_type}: no playable instance in ${this.draws} draws under this env_config`;
  }
}
