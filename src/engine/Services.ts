/**
 * The two service stages: `generate` in front of the policy and the pool's `step`, so that what rollouts wait for is measured and
 * limited in one place. In lockstep a barrier stands in front of training's generation; validation's requests are pinned and pass freely.
 */
import { Context, Effect, Layer } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { Environments } from "../env/Environments.ts";
import { StepPool } from "../env/pool/StepPool.ts";
import { type GenerateRequest, Policy } from "../policy/generation/Policy.ts";
import type { Mode } from "../rollout/Rollout.ts";
import { Dials } from "../stage/Dials.ts";
import * as Slots from "../stage/Slots.ts";
import * as Stage from "../stage/Stage.ts";
import { spanned } from "../stage/spanned.ts";
import { Config } from "./Config.ts";
import { Episodes } from "./Episodes.ts";

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

/** The policy behind the `generate` stage. */
const staged = Effect.gen(function* () {
  const config = yield* Config;
  const dials = yield* Dials;
  const policy = yield* Policy;
  const { barrier } = yield* Episodes;
  const generate = dials.add(
    yield* Stage.service({ name: "generate", concurrency: slots(config), most: slots(config), run: policy.generate }),
  );
  const ask = (request: GenerateRequest) =>
    barrier === null || request.pin !== null
      ? generate.call(request)
      : Effect.andThen(barrier.arrive, generate.call(request));
  return Policy.of({
    ...policy,
    generate: (request) => spanned(ask(request), "generate", { sequence: request.sequence, max: request.maxTokens }),
  });
});

/** The environments, with a span for each step. */
const traced = Effect.map(Environments, (environments) =>
  Environments.of({
    ...environments,
    step: (request) => spanned(environments.step(request), "step", { tag: request.tag }),
  }),
);

/** Policy and environments as rollouts use them. */
export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const dials = yield* Dials;
    const policy = yield* staged;
    const environments = yield* traced;
    // The pool is the `step` stage by itself: what is in flight there are batches.
    dials.add(yield* StepPool);
    return Context.make(Policy, policy).pipe(Context.add(Environments, environments));
  }),
);
