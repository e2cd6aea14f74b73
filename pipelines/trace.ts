/**
 * `millrace trace`: fixed actions played on one instance of a preset, without a model. Leaves one JSON object per action, line 0 being
 * the reset; an unknown action is bad input and leaves no line at all.
 */
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { prepareAll } from "../src/env/contract/prepare.ts";
import { trace as play, splitActions } from "../src/env/validate/trace.ts";
import { byNearest } from "../src/support/text/nearest.ts";
import { boundEnvironments } from "./presets.ts";

export interface TraceOptions {
  readonly config: RunConfig;
  readonly tag: string;
  readonly seed: number;
  /** Each item holds the actions of one reply: several separated by `||`, or one whole answer. */
  readonly actions: readonly string[];
}

export const trace = Effect.fn("pipelines.trace")(function* ({ actions, config, seed, tag }: TraceOptions) {
  const environments = yield* boundEnvironments(config, [tag]);
  yield* prepareAll(environments);
  const environment = environments.get(tag)!;
  const lines = yield* play(environment, seed, environment.wholeAnswer ? actions : actions.flatMap(splitActions)).pipe(
    Effect.catchTags({
      IllegalAction: ({ action, valid }) =>
        new BadInput({
          message: `--actions: ${JSON.stringify(action)} is no action of ${tag}; nearest: ${byNearest(action, valid)[0] ?? "none"}; all: ${valid.join(", ")}`,
        }),
      NoInstance: ({ message }) => new BadInput({ message: `custom_envs.${tag}.env_config: ${message}` }),
    }),
  );
  return lines.map((line) => JSON.stringify(line));
});
