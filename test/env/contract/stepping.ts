/** Steps through the service, whatever is behind it. */
import { Effect } from "effect";
import { Environments, type StepRequest } from "../../../src/env/contract/Environments.ts";

/** The outcome of a step: the observation, or why it failed. */
export const outcome = (step: StepRequest) =>
  Effect.gen(function* () {
    const environments = yield* Environments;
    return yield* environments.step(step).pipe(
      Effect.map((result) => result.view.observation),
      Effect.catchTag("StepFailure", (failure) => Effect.succeed(failure.reason)),
    );
  });
