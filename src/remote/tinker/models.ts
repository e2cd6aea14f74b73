/**
 * The models of a run on a Tinker server, new or as they were saved: the policy, and a critic where the run has one. They are examined first. Invariant:
 * what a run file asks for in vain is refused before anything is trained.
 */
import { Effect, type Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TinkerServerName } from "../../domain/TinkerServer.ts";
import * as Connection from "./Connection.ts";
import { baseModelOf, type Saved } from "./checkpoint.ts";
import { hasCritic, unsupported, type Ways, waysOf } from "./facts.ts";
import { Model, type ModelOptions, type Role } from "./Model.ts";
import { hasWeightsOf } from "./ownWeights.ts";
import { inItsFormat, notFinite, referenceIsHarmless, strangeTo, whichSkyRL } from "./probes.ts";
import type { TinkerStart } from "./protocol.ts";
import { TinkerError } from "./TinkerError.ts";
import { datumOf } from "./wire/Data.ts";

export interface Models {
  readonly model: Model;
  readonly critic: Model | undefined;
  readonly ways: Ways;
}

type Passed = NonNullable<ModelOptions["passed"]>;

/** How long the server is given to take a model back. */
const GIVE_BACK = "3 seconds";
/** Their numbers in the session; the one between is of a model that is tried and given back. */
const NUMBER: Readonly<Record<Role, number>> = { policy: 0, critic: 2 };

const refuse = (lines: readonly string[]): Effect.Effect<void, TinkerError> =>
  lines.length === 0 ? Effect.void : Effect.fail(new TinkerError({ reason: "rejected", message: lines.join("\n") }));

/** A model on the server for the scope, new, or as it was `saved` there. */
const lent = Effect.fnUntraced(function* (
  connection: Connection.Connection,
  config: RunConfig,
  role: Role,
  saved: string | undefined,
  passed: Passed,
): Effect.fn.Return<Model, TinkerError, Scope.Scope> {
  const { lora, request_tokens: requestTokens } = config.model.learner;
  const options = { baseModel: baseModelOf(config), lora, role, requestTokens, passed };
  const model = yield* Effect.acquireRelease(
    Model.create(connection, options, NUMBER[role]),
    // Its place is free for the next run at once, and not only when the server misses the heartbeat.
    (made) => Effect.ignore(Effect.timeout(made.unload(), GIVE_BACK)),
  );
  if (saved !== undefined) yield* model.load(saved);
  return model;
});

/** What is wrong with the server's first log-probabilities of the probe. A model that has seen nothing like it is known by its weights. */
const strangeOf = Effect.fnUntraced(function* ({ config, probe, vocabSize }: TinkerStart, logp: Float32Array) {
  const strange = strangeTo(logp, vocabSize);
  if (strange === null) return null;
  return (yield* hasWeightsOf(config.model.path, probe, logp)) ? null : strange;
});

/** @param passed is told of every pass */
export const make = Effect.fnUntraced(function* (
  start: TinkerStart,
  saved: Saved | undefined,
  connection: Connection.Connection,
  passed: Passed,
): Effect.fn.Return<Models, TinkerError, Scope.Scope> {
  const { config, probe } = start;
  const { body, lora, server, url } = config.model.learner;
  const guess: TinkerServerName = server === "auto" ? yield* Connection.identify(url) : server;
  yield* refuse(guess === "skyrl-jax" && server === "auto" ? [] : unsupported(config, guess));
  const created = yield* lent(connection, config, "policy", saved?.weights, passed);
  const data = [datumOf(probe)];
  const model = yield* inItsFormat(created, body, data);
  const [output] = yield* model.output(data);
  const name = whichSkyRL(guess, server, [...(output?.fields.keys() ?? [])]);
  if (typeof name !== "string") return yield* name;
  yield* refuse(unsupported(config, name));
  const [logp = new Float32Array(0)] = yield* model.forward(data);
  const strange = saved === undefined ? yield* strangeOf(start, logp) : notFinite(logp);
  if (strange !== null) return yield* strange;
  yield* model.learnResending(data);
  if (config.actor.use_kl_loss || config.algorithm.use_kl_in_reward) {
    yield* referenceIsHarmless(connection, { baseModel: baseModelOf(config), lora }, probe, model);
  }
  const ways = waysOf(config, name);
  if (!hasCritic(config)) return { model, critic: undefined, ways };
  // SkyRL-Train makes a critic beside a policy only.
  const critic = (yield* lent(connection, config, "critic", saved?.critic ?? undefined, passed)).in(model.format);
  yield* critic.learnResending(data);
  return { model, critic, ways };
});
