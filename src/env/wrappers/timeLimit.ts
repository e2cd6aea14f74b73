/** The time limit truncates an episode after so many actions, unless the last of them ends it. */
import * as Schema from "effect/Schema";
import { steps as limitedSteps } from "../../config/field.ts";
import type { Wrapper } from "./Wrapper.ts";

export const TimeLimitConfig = Schema.Struct({
  max_steps: limitedSteps.annotate({ description: "Actions after which the episode is truncated." }),
});

export const timeLimit = ({ max_steps: limit }: typeof TimeLimitConfig.Type): Wrapper<number> => ({
  initialMemory: 0,
  afterStep: (steps, { reward }) => ({ memory: steps + 1, reward, cut: steps + 1 >= limit }),
  canPlay: (steps, actions) => steps + actions <= limit,
});
