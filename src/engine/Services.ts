/**
 * The two service stages: `generate` and `step` wrap the policy and the environments, so that what rollouts wait for is measured and
 * limited in one place. Enters: the raw services; leaves: the same services, staged, and the dials of both. In lockstep a barrier
 * stands in front of training's generation (validation's requests are pinned and pass freely).
 */
import { Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { Environments } from "../envs/Environments.ts";
import { Policy } from "../policy/generation/Policy.ts";
import type { Barrier } from "../stage/Barrier.ts";
import * as Stage from "../stage/Stage.ts";

export interface Services {
  readonly policy: typeof Policy.Service;
  readonly environments: typeof Environments.Service;
  readonly dials: readonly Stage.Dial[];
}

/** Sequences that may hold a cache at once, over all generator threads. */
export const slots = (config: RunConfig): number => config.generation.slots * config.model.generator_threads;

export const make = Effect.fnUntraced(function* (config: RunConfig, barrier: Barrier | null) {
  const policy = yield* Policy;
  const environments = yield* Environments;
  const generate = yield* Stage.service({ name: "generate", concurrency: slots(config), run: policy.generate });
  // Every episode may have a step in service; the pool batches them over its threads.
  const step = yield* Stage.service({ name: "step", concurrency: slots(config), run: environments.step });
  const services: Services = {
    policy: Policy.of({
      ...policy,
      generate:
        barrier === null
          ? generate.call
          : (request) =>
              request.pin === null ? Effect.andThen(barrier.arrive, generate.call(request)) : generate.call(request),
    }),
    environments: Environments.of({ ...environments, step: step.call }),
    dials: [generate, step],
  };
  return services;
});
