/**
 * Episodes that an open policy plays, by the code of a validation. Step threads of an environment start when it is first played, and end with
 * the policy.
 */
import { Context, Effect, Layer, Schema, Scope } from "effect";
import { decode } from "../src/config/decode.ts";
import { count, temperature } from "../src/config/field.ts";
import type { Episode } from "../src/domain/Episode.ts";
import { BadInput, type EnvironmentError, type PolicyError } from "../src/domain/Errors.ts";
import * as Backend from "../src/engine/Backend.ts";
import { gamesUrl } from "../src/env/games/registry.ts";
import * as Pool from "../src/env/pool/layer.ts";
import { Policy } from "../src/generation/Policy.ts";
import * as Model from "../src/model/Model.ts";
import * as GroupProgram from "../src/rollout/group.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import type { LoadedPolicy } from "./policyReply.ts";
import { playedEnvironments } from "./presets.ts";

/** Options of an episode. */
export interface PlayOptions {
  /** Seed of the instance, and of the draws of the replies; the first of the run file's validation by default. */
  readonly seed?: number;
  /** Sampling temperature; 0 takes the likeliest token. That of the run file's validation by default. */
  readonly temperature?: number;
  /** Ends the play; the episode rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

const Options = Schema.Struct({ seed: Schema.optional(count), temperature: Schema.optional(temperature) });

/** Plays number `call` of the policy: one episode of the preset `tag`. */
export type Play = (
  call: number,
  tag: string,
  options: Omit<PlayOptions, "signal">,
) => Effect.Effect<Episode, BadInput | PolicyError | EnvironmentError>;

/** Makes the player of a policy. Threads live in `scope`; `checkTrusted` comes before any code of the user is loaded. */
export const playerOf = (
  { config, generator, model, version }: LoadedPolicy,
  checkTrusted: Effect.Effect<void, BadInput>,
  scope: Scope.Scope,
): Play => {
  const prepareTag = Effect.fnUntraced(function* (tag: string) {
    yield* checkTrusted;
    yield* Model.checkContext(config, model);
    const environments = yield* playedEnvironments(config, [tag]);
    const pool = yield* Layer.build(Pool.layer(config, environments, gamesUrl));
    const services = Context.add(pool, Policy, generator);
    return { services, rollout: yield* Backend.makeRollout(config, model, environments.texts) };
  });
  const prepare = (tag: string) => Effect.uninterruptible(Scope.provide(prepareTag(tag), scope));
  const prepared = new Map<string, ReturnType<typeof prepare>>();
  /** Prepares a preset once; an abort of the play that asked first does not cut the preparation short for others. */
  const preparedFor = Effect.fnUntraced(function* (tag: string) {
    const earlier = prepared.get(tag);
    if (earlier !== undefined) return yield* earlier;
    const preparing = yield* Effect.cached(prepare(tag));
    prepared.set(tag, preparing);
    return yield* preparing;
  });
  return Effect.fnUntraced(function* (call, tag, given) {
    const options = yield* Effect.fromResult(decode(Options, given));
    const { rollout, services } = yield* preparedFor(tag);
    const validation = Rollout.validationMode(config, version);
    const { temperature = validation.sampling.temperature, seed = config.es_manager.val.seed } = options;
    const mode = { ...validation, sampling: { ...validation.sampling, temperature }, pin: null };
    const prompt = { group: call, tag, seed, size: 1, admittedAt: 0 };
    const { episodes } = yield* Effect.provideContext(GroupProgram.play(rollout, mode, prompt), services);
    const [episode] = episodes;
    return episode ?? (yield* new BadInput({ message: `${tag}: no episode` }));
  });
};
