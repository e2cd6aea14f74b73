/**
 * What is seen of a model on a Tinker server before it is trained: that it knows our tokens, which of SkyRL's backends it is, in which format it takes
 * tensors, whether it knows a request again, and whether reference log-probabilities leave it alone. Invariant: the model that is trained is left as
 * it was; what changes weights is tried on one that is given back.
 */
import { Effect } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TinkerServerName } from "../../domain/TinkerServer.ts";
import type { Connection } from "./Connection.ts";
import { Model, type ModelOptions } from "./Model.ts";
import { TinkerError } from "./TinkerError.ts";
import { type Datum, datumOf } from "./wire/Data.ts";

const refused = (message: string): TinkerError => new TinkerError({ reason: "rejected", message });

const oneRequest = 2 ** 20;

/** The model in the format that the server takes. */
export const inItsFormat = Effect.fnUntraced(function* (
  model: Model,
  asked: RunConfig["model"]["learner"]["body"],
  data: readonly Datum[],
): Effect.fn.Return<Model, TinkerError> {
  if (asked !== "auto") return model.in(asked);
  const spoken = model.in("json");
  const first = yield* Effect.result(spoken.output(data));
  if (first._tag === "Success") return spoken;
  const wrongFormat = first.failure.reason === "rejected" || first.failure.reason === "gone";
  if (!wrongFormat) return yield* first.failure;
  const other = spoken.in("protobuf");
  // The first complaint says more than that the other format is not known either.
  yield* Effect.mapError(other.output(data), (error) => (error.reason === "rejected" ? first.failure : error));
  return other;
});

/** Tells the backends of SkyRL apart: only that on JAX gives the loss of every token of a forward pass. */
export const whichSkyRL = (
  name: TinkerServerName,
  asked: RunConfig["model"]["learner"]["server"],
  fields: readonly string[],
): TinkerServerName | TinkerError => {
  const seen = fields.includes("elementwise_loss") ? "skyrl-jax" : "skyrl-train";
  if (name !== "skyrl-jax" && name !== "skyrl-train") return name;
  if (asked === "auto" || asked === seen) return seen;
  return refused(`model.learner.server: ${asked}: the answers are those of the other backend; nearest: ${seen}`);
};

const meanOf = (values: Float32Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** A model that has seen text in these tokens gives them more than chance; one of other tokens gives them far less. */
const SLACK_NATS = 3;

/** What is wrong with log-probabilities that are none. */
export const notFinite = (logp: Float32Array): TinkerError | null =>
  Number.isFinite(meanOf(logp)) ? null : refused("the server's log-probabilities of a first text are not finite");

/** What is wrong with a model whose log-probabilities of a text in our tokens these are. */
export const strangeTo = (logp: Float32Array, vocabSize: number): TinkerError | null => {
  const none = notFinite(logp);
  if (none !== null) return none;
  const mean = meanOf(logp);
  const chance = -Math.log(vocabSize);
  if (mean >= chance - SLACK_NATS) return null;
  return refused(
    `the server's model gives a text in the tokens of model.path ${mean.toFixed(1)} nats a token, and chance is ${chance.toFixed(1)}: it has another tokenizer; name the folder of the server's own model as model.path`,
  );
};

/** A step of this rate moves log-probabilities far more than they differ between two passes. */
const RATE = 1e-2;
const LEAST_MOVE = 1e-4;
/** Sampler and trainer compute in another order. */
const MOST_DIFFERENCE = 1e-2;

const farthest = (a: Float32Array, b: Float32Array): number =>
  a.reduce((most, value, i) => Math.max(most, Math.abs(value - (b[i] ?? Number.NaN))), 0);

/** A model of its own, moved by one step, for the scope. */
const moved = Effect.fnUntraced(function* (connection: Connection, options: ModelOptions, data: Datum, format: Model) {
  const lent = { ...options, requestTokens: oneRequest };
  const model = yield* Effect.acquireRelease(Model.create(connection, lent, 1), (made) => Effect.ignore(made.unload()));
  const scratch = format.format === "protobuf" ? model.in("protobuf") : model;
  const [before = new Float32Array(0)] = yield* scratch.forward([data]);
  const advantages = new Float32Array(data.tokens.length).fill(1);
  yield* scratch.backward(
    [{ ...data, tensors: { ...data.tensors, logprobs: before, advantages } }],
    "importance_sampling",
  );
  yield* scratch.step({
    learning_rate: RATE,
    beta1: 0.9,
    beta2: 0.999,
    eps: 1e-8,
    weight_decay: 0,
    grad_clip_norm: 0,
  });
  return { scratch, before };
});

/**
 * Fails where log-probabilities of the base model are not to be had, or asking for them changes the model in training. A first adapter adds nothing, so
 * before its first step it is the base model.
 */
export const referenceIsHarmless = Effect.fnUntraced(function* (
  connection: Connection,
  options: ModelOptions,
  ids: Int32Array,
  model: Model,
): Effect.fn.Return<void, TinkerError> {
  const key = "actor.use_kl_loss, algorithm.use_kl_in_reward";
  yield* Effect.gen(function* () {
    const data = datumOf(ids);
    const { before, scratch } = yield* moved(connection, options, data, model);
    const [after = new Float32Array(0)] = yield* scratch.forward([data]);
    const reference = yield* scratch.base(ids);
    const [again = new Float32Array(0)] = yield* scratch.forward([data]);
    if (farthest(before, after) < LEAST_MOVE) {
      return yield* refused(
        `${key}: true: a step did not move the server's model, so nothing can be told; nearest: false`,
      );
    }
    if (farthest(after, again) >= LEAST_MOVE / 10) {
      return yield* refused(
        `${key}: true: asking the server for the reference's log-probabilities changes the model that it trains; nearest: false`,
      );
    }
    const off = farthest(reference, before);
    if (off > MOST_DIFFERENCE) {
      return yield* refused(
        `${key}: true: the server's prompt_logprobs of its base model are ${off.toFixed(3)} nats off those of its trainer; nearest: false`,
      );
    }
  }).pipe(
    Effect.scoped,
    Effect.mapError((error) =>
      error.message.startsWith(key)
        ? error
        : refused(`${key}: true: what it needs could not be tried on the server (${error.message}); nearest: false`),
    ),
  );
});
