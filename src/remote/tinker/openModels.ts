/**
 * Opens the models of a run on a Tinker server, new or saved: the policy, and a critic if the run has one. Invariant: a run file that the
 * server cannot follow is refused before anything is trained.
 */
import { Effect, type Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TinkerServerName } from "../../domain/TinkerServer.ts";
import * as Connection from "./Connection.ts";
import { baseModelOf, type TinkerCheckpoint } from "./checkpoint.ts";
import { hasWeightsOf } from "./ownWeights.ts";
import { checkReference, chooseFormat, findForeignTokens, findNotFinite, identifySkyRL } from "./probes.ts";
import type { TinkerStart } from "./protocol.ts";
import { TinkerError } from "./TinkerError.ts";
import { type ModelRole, TinkerModel, type TinkerModelOptions } from "./TinkerModel.ts";
import { findUnsupported, hasCritic, type RunTraits, runTraits } from "./unsupported.ts";
import { datumOf } from "./wire/Data.ts";

export interface TinkerModels {
  readonly model: TinkerModel;
  readonly critic: TinkerModel | undefined;
  readonly traits: RunTraits;
}

type OnPass = NonNullable<TinkerModelOptions["onPass"]>;

/** Time for the server to remove a model. */
const GIVE_BACK = "3 seconds";
/** Numbers of the models in the session; 1 is that of a probe's model, which is removed again. */
const MODEL_NUMBER: Readonly<Record<ModelRole, number>> = { policy: 0, critic: 2 };

const refuse = (lines: readonly string[]): Effect.Effect<void, TinkerError> =>
  lines.length === 0 ? Effect.void : Effect.fail(new TinkerError({ reason: "rejected", message: lines.join("\n") }));

/** Opens a model on the server for the scope, new, or as it was `saved` there. */
const openModel = Effect.fnUntraced(function* (
  connection: Connection.Connection,
  config: RunConfig,
  role: ModelRole,
  saved: string | undefined,
  onPass: OnPass,
): Effect.fn.Return<TinkerModel, TinkerError, Scope.Scope> {
  const { lora, request_tokens: requestTokens } = config.model.learner;
  const options: TinkerModelOptions & { readonly requestTokens: number } = {
    baseModel: baseModelOf(config),
    lora,
    role,
    requestTokens,
    onPass,
  };
  const model = yield* Effect.acquireRelease(
    TinkerModel.create(connection, options, MODEL_NUMBER[role]),
    // Removing the model frees its place at once, and not only when heartbeats are missed.
    (model) => Effect.ignore(Effect.timeout(model.unload(), GIVE_BACK)),
  );
  if (saved !== undefined) yield* model.load(saved);
  return model;
});

/**
 * Returns a problem of the server's first log-probabilities of the probe, or null. A model that has seen no such text is recognised by its
 * weights.
 */
const findForeignModel = Effect.fnUntraced(function* ({ config, probe, vocabSize }: TinkerStart, logp: Float32Array) {
  const problem = findForeignTokens(logp, vocabSize);
  if (problem === null) return null;
  return (yield* hasWeightsOf(config.model.path, probe, logp)) ? null : problem;
});

/** @param onPass is called after every pass */
export const openModels = Effect.fnUntraced(function* (
  start: TinkerStart,
  saved: TinkerCheckpoint | undefined,
  connection: Connection.Connection,
  onPass: OnPass,
): Effect.fn.Return<TinkerModels, TinkerError, Scope.Scope> {
  const { config, probe } = start;
  const { body, lora, server, url } = config.model.learner;
  const guess: TinkerServerName = server === "auto" ? yield* Connection.identify(url) : server;
  yield* refuse(guess === "skyrl-jax" && server === "auto" ? [] : findUnsupported(config, guess));
  const created = yield* openModel(connection, config, "policy", saved?.weights, onPass);
  const data = [datumOf(probe)];
  const model = yield* chooseFormat(created, body, data);
  const [output] = yield* model.output(data);
  const name = identifySkyRL(guess, server, [...(output?.fields.keys() ?? [])]);
  if (typeof name !== "string") return yield* name;
  yield* refuse(findUnsupported(config, name));
  const [logp = new Float32Array(0)] = yield* model.forward(data);
  const problem = saved === undefined ? yield* findForeignModel(start, logp) : findNotFinite(logp);
  if (problem !== null) return yield* problem;
  yield* model.detectResending(data);
  if (config.actor.use_kl_loss || config.algorithm.use_kl_in_reward) {
    yield* checkReference(connection, { baseModel: baseModelOf(config), lora }, probe, model);
  }
  const traits = runTraits(config, name);
  if (!hasCritic(config)) return { model, critic: undefined, traits };
  // SkyRL-Train creates a critic only beside a policy.
  const critic = (yield* openModel(connection, config, "critic", saved?.critic ?? undefined, onPass)).withFormat(
    model.format,
  );
  yield* critic.detectResending(data);
  return { model, critic, traits };
});
