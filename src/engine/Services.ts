/**
 * The two service stages: `generate` in front of the policy and the pool's `step`, so that what rollouts wait for is measured and
 * limited in one place. Enters: the raw services; leaves: the same services, staged, and the dials of both. In lockstep a barrier
 * stands in front of training's generation (validation's requests are pinned and pass freely).
 */
import { Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { Environments } from "../env/Environments.ts";
import { StepPool } from "../env/pool/StepPool.ts";
import { Policy } from "../policy/generation/Policy.ts";
import type { Mode } from "../rollout/Rollout.ts";
import type { Barrier } from "../stage/Barrier.ts";
import * as Slots from "../stage/Slots.ts";
import * as Stage from "../stage/Stage.ts";

export interface Services {
  readonly policy: typeof Policy.Service;
  readonly environments: typeof Environments.Service;
  readonly dials: readonly Stage.Dial[];
}

/** Sequences that may hold a cache at once, over all generator threads. */
export const slots = (config: RunConfig): number => config.generation.slots * config.model.generator_threads;

/** Wraps training's episodes so that at most `limit` are in flight, those of the oldest groups first. */
export const inSlots = (limit: number): Mode["around"] => {
  const held = Slots.makeUnsafe(limit);
  return (episode) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.andThen(restore(held.acquire), Effect.ensuring(restore(episode), Effect.sync(held.release))),
    );
};

export const make = Effect.fnUntraced(function* (config: RunConfig, barrier: Barrier | null) {
  const policy = yield* Policy;
  const environments = yield* Environments;
  const generate = yield* Stage.service({ name: "generate", concurrency: slots(config), run: policy.generate });
  // The pool is the `step` stage by itself: what is in flight there are batches.
  const step = yield* StepPool;
  const services: Services = {
    policy: Policy.of({
      ...policy,
      generate:
        barrier === null
          ? generate.call
          : (request) =>
              request.pin === null ? Effect.andThen(barrier.arrive, generate.call(request)) : generate.call(request),
    }),
    environments,
    dials: [generate, step],
  };
  return services;
});
