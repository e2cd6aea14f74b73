/** Content keys of the instances that validation plays, which training leaves out. */
import { Effect } from "effect";
import { isAgentTag } from "../config/agentForms.ts";
import { groupsOf } from "../config/levels.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import { Environments, type StepFailure } from "../env/contract/Environments.ts";
import { instanceKey } from "./keys.ts";
import * as Seeds from "./seeds.ts";

/**
 * Content keys of the validation instances. Fails with BadInput where not one of them can be made: then the environments' configuration is
 * at fault.
 */
export const validationContentKeys = Effect.fnUntraced(function* (config: RunConfig) {
  const environments = yield* Environments;
  const prompts = Seeds.validation(groupsOf(config, "val"), 0, 0).filter(({ tag }) => !isAgentTag(config.agent, tag));
  const failures: StepFailure[] = [];
  const keys = yield* Effect.forEach(
    prompts,
    ({ tag, seed }) =>
      environments.reset({ tag, instance: instanceKey(seed), split: "val" }).pipe(
        Effect.map((view) => [view.contentKey]),
        Effect.catchTag("StepFailure", (failure: StepFailure) => {
          failures.push(failure);
          return Effect.succeed([]);
        }),
      ),
    { concurrency: "unbounded" },
  );
  if (failures.length > 0 && failures.length === prompts.length) {
    return yield* new BadInput({ message: `es_manager.val: no instance can be made: ${failures[0]?.message}` });
  }
  return new Set(keys.flat());
});
