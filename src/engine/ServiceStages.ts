/**
 * The two service stages: `generate` in front of the policy and the pool's `step`, so that what rollouts wait for is measured and
 * limited in one place. In lockstep a barrier stands in front of training's generation; validation's requests are pinned and pass freely.
 */
import { Context, Effect, Layer } from "effect";
import { cacheRows } from "../config/maxPermits.ts";
import type { Sampled } from "../domain/Episode.ts";
import { runsOf } from "../domain/EpisodeSummary.ts";
import { Environments } from "../env/contract/Environments.ts";
import { StepPool } from "../env/pool/StepPool.ts";
import * as Stage from "../flow/Stage.ts";
import { StageRegistry } from "../flow/StageRegistry.ts";
import { spanned } from "../flow/spanned.ts";
import { type GenerateRequest, Policy } from "../generation/Policy.ts";
import { Config, RolloutSetup } from "./RunContext.ts";

/** A span's attributes from a reply: its tokens by the version that sampled them. */
const replyAttributes = ({ versions }: Sampled) => {
  const runs = runsOf(versions);
  return { versions: runs.map(([version]) => version), version_tokens: runs.map(([, tokens]) => tokens) };
};

/** The policy behind the `generate` stage. */
const stagedPolicy = Effect.gen(function* () {
  const config = yield* Config;
  const registry = yield* StageRegistry;
  const policy = yield* Policy;
  const { barrier } = yield* RolloutSetup;
  const generate = registry.add(
    yield* Stage.service({
      name: "generate",
      concurrency: cacheRows(config),
      most: cacheRows(config),
      run: policy.generate,
    }),
  );
  const generateBehindBarrier = (request: GenerateRequest) =>
    barrier === null || request.pin !== null
      ? generate.call(request)
      : Effect.andThen(barrier.arrive, generate.call(request));
  return Policy.of({
    ...policy,
    generate: (request) =>
      spanned(
        generateBehindBarrier(request),
        "generate",
        { sequence: request.sequence, max: request.maxTokens },
        replyAttributes,
      ),
  });
});

/** The environments, with a span for each step. */
const tracedEnvironments = Effect.map(Environments, (environments) =>
  Environments.of({
    ...environments,
    step: (request) => spanned(environments.step(request), "step", { tag: request.tag }),
  }),
);

/** Policy and environments as rollouts use them. */
export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const registry = yield* StageRegistry;
    const policy = yield* stagedPolicy;
    const environments = yield* tracedEnvironments;
    // The pool is the `step` stage by itself: what is in flight there are batches.
    registry.add(yield* StepPool);
    return Context.make(Policy, policy).pipe(Context.add(Environments, environments));
  }),
);
