/**
 * Probes a model on a Tinker server before it is trained: its tokenizer, SkyRL's backend, the format of tensors, and the effect of
 * reference requests. Invariant: the model to be trained is left unchanged; steps are tried on another model, which is removed.
 */
import { Effect } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TinkerServerName } from "../../domain/TinkerServer.ts";
import type { Connection } from "./Connection.ts";
import { TinkerError } from "./TinkerError.ts";
import { TinkerModel, type TinkerModelOptions } from "./TinkerModel.ts";
import { type Datum, datumOf } from "./wire/Data.ts";

const refused = (message: string): TinkerError => new TinkerError({ reason: "rejected", message });

const oneRequest = 2 ** 20;

/** Returns the model with the format that the server takes. */
export const chooseFormat = Effect.fnUntraced(function* (
  model: TinkerModel,
  setting: RunConfig["model"]["learner"]["body"],
  data: readonly Datum[],
): Effect.fn.Return<TinkerModel, TinkerError> {
  if (setting !== "auto") return model.withFormat(setting);
  const spoken = model.withFormat("json");
  const first = yield* Effect.result(spoken.output(data));
  if (first._tag === "Success") return spoken;
  const wrongFormat = first.failure.reason === "rejected" || first.failure.reason === "gone";
  if (!wrongFormat) return yield* first.failure;
  const other = spoken.withFormat("protobuf");
  // The first error says more than an error about the other format.
  yield* Effect.mapError(other.output(data), (error) => (error.reason === "rejected" ? first.failure : error));
  return other;
});

/** Tells SkyRL's backends apart: only the one on JAX returns the loss of every token of a forward pass. */
export const identifySkyRL = (
  name: TinkerServerName,
  setting: RunConfig["model"]["learner"]["server"],
  fields: readonly string[],
): TinkerServerName | TinkerError => {
  const actual = fields.includes("elementwise_loss") ? "skyrl-jax" : "skyrl-train";
  if (name !== "skyrl-jax" && name !== "skyrl-train") return name;
  if (setting === "auto" || setting === actual) return actual;
  return refused(`model.learner.server: ${setting}: the answers are those of the other backend; nearest: ${actual}`);
};

const meanOf = (values: Float32Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** A model that has seen text in these tokens gives them more than chance, and one of other tokens far less. */
const SLACK_NATS = 3;

/** Returns an error if the log-probabilities are not finite, else null. */
export const findNotFinite = (logp: Float32Array): TinkerError | null =>
  Number.isFinite(meanOf(logp)) ? null : refused("the server's log-probabilities of a first text are not finite");

/** Returns an error if the log-probabilities show that the model has another tokenizer, else null. */
export const findForeignTokens = (logp: Float32Array, vocabSize: number): TinkerError | null => {
  const none = findNotFinite(logp);
  if (none !== null) return none;
  const mean = meanOf(logp);
  const chance = -Math.log(vocabSize);
  if (mean >= chance - SLACK_NATS) return null;
  return refused(
    `the server's model gives a text in the tokens of model.path ${mean.toFixed(1)} nats a token, and chance is ${chance.toFixed(1)}: it has another tokenizer; name the folder of the server's own model as model.path`,
  );
};

/** A step at this rate moves log-probabilities far more than two passes differ. */
const RATE = 1e-2;
const LEAST_MOVE = 1e-4;
/** Sampler and trainer add in different orders. */
const MOST_DIFFERENCE = 1e-2;

const largestDifference = (a: Float32Array, b: Float32Array): number =>
  a.reduce((most, value, i) => Math.max(most, Math.abs(value - (b[i] ?? Number.NaN))), 0);

/** Creates another model for the scope, and moves it by one step. */
const makeMovedModel = Effect.fnUntraced(function* (
  connection: Connection,
  options: TinkerModelOptions,
  data: Datum,
  format: TinkerModel,
) {
  const modelOptions = { ...options, requestTokens: oneRequest };
  const model = yield* Effect.acquireRelease(TinkerModel.create(connection, modelOptions, 1), (model) =>
    Effect.ignore(model.unload()),
  );
  const scratch = format.format === "protobuf" ? model.withFormat("protobuf") : model;
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
 * Fails if the base model's log-probabilities cannot be had, or if requests for them change the model in training. A new adapter adds
 * nothing, so before its first step it equals the base model.
 */
export const checkReference = Effect.fnUntraced(function* (
  connection: Connection,
  options: TinkerModelOptions,
  ids: Int32Array,
  model: TinkerModel,
): Effect.fn.Return<void, TinkerError> {
  const key = "actor.use_kl_loss, algorithm.use_kl_in_reward";
  yield* Effect.gen(function* () {
    const data = datumOf(ids);
    const { before, scratch } = yield* makeMovedModel(connection, options, data, model);
    const [after = new Float32Array(0)] = yield* scratch.forward([data]);
    const reference = yield* scratch.baseLogProbs(ids);
    const [again = new Float32Array(0)] = yield* scratch.forward([data]);
    if (largestDifference(before, after) < LEAST_MOVE) {
      return yield* refused(
        `${key}: true: a step did not move the server's model, so nothing can be told; nearest: false`,
      );
    }
    if (largestDifference(after, again) >= LEAST_MOVE / 10) {
      return yield* refused(
        `${key}: true: asking the server for the reference's log-probabilities changes the model that it trains; nearest: false`,
      );
    }
    const off = largestDifference(reference, before);
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
