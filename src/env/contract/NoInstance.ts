/**
 * The error that `reset` throws when a bounded number of draws gives no instance under a valid configuration. Examples are a search too
 * shallow to move every box, and ice with hardly a frozen cell.
 */
import * as Schema from "effect/Schema";

/** The error that `reset` throws when a bounded number of draws gives no instance. */
export class NoInstance extends Schema.TaggedError<NoInstance>()("NoInstance", {
  env_type: Schema.String,
  draws: Schema.Number,
}) {
  override get message(): string {
    return `${this.env_type}: no playable instance in ${this.draws} draws under this env_config`;
  }
}
