/** The train pipeline: a resolved configuration goes in, a run's folder comes out. */
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { type BadInput, type EnvironmentError, type LearnerError, PolicyError } from "../src/domain/Errors.ts";

export const train = (_options: {
  readonly config: RunConfig;
  readonly resume: string | null;
  readonly debug: boolean;
}): Effect.Effect<void, BadInput | PolicyError | LearnerError | EnvironmentError> =>
  Effect.fail(new PolicyError({ reason: "session_failed", message: "the train pipeline is not wired" }));
