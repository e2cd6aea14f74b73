/**
 * A model in training on a Tinker server: passes over data, optimiser steps, versions for sampling, and saved states. Requests are numbered
 * in the order in which they are sent, one at a time. Invariant: a gradient or a step is not counted twice: its request is repeated only if
 * the server was seen to recognise numbers.
 */
import { Effect, Result, Schema } from "effect";
import type { Client, OperationRequest, RequestBody } from "./Client.ts";

import { type Connection, jsonReader, readNothing, untilLost } from "./Connection.ts";
import type { Content, ResendRule } from "./Operation.ts";
import type { TinkerError } from "./TinkerError.ts";
import { type Datum, fieldOf, type LossName, logprobsOf, type PassOutput } from "./wire/Data.ts";
import * as Json from "./wire/json.ts";
import * as Protobuf from "./wire/protobuf.ts";
import { checkPromptLogprobs, type SampleOutput } from "./wire/Sample.ts";

/** `critic` exists at SkyRL-Train alone, beside a policy. */
export type ModelRole = "policy" | "critic";

export interface TinkerModelOptions {
  readonly baseModel: string;
  /** Default `policy`. */
  readonly role?: ModelRole;
  readonly lora: {
    readonly rank: number;
    readonly seed: number;
    readonly train_mlp: boolean;
    readonly train_attn: boolean;
    readonly train_unembed: boolean;
  };
  /** Called with the tokens of each finished pass. */
  readonly onPass?: (tokens: number, forwardOnly: boolean) => void;
}

/** Adam's constants of one step, by the server's names. */
export interface AdamParameters {
  readonly learning_rate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weight_decay: number;
  /** 0 does not clip. */
  readonly grad_clip_norm: number;
}

export type BodyFormat = "json" | "protobuf";

const Id = Schema.NonEmptyString.check(Schema.isMaxLength(512));
const ModelCreated = jsonReader(Schema.Struct({ model_id: Id }), "model");
const Saved = jsonReader(
  Schema.Struct({ path: Schema.NonEmptyString.check(Schema.isMaxLength(4_096)) }),
  "saved state",
);
const ForSampling = jsonReader(Schema.Struct({ sampling_session_id: Id }), "sampling session");
const Stepped = jsonReader(
  Schema.Struct({
    metrics: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
  }),
  "optimiser step",
);
const RequestAccepted = jsonReader(Schema.Struct({ request_id: Id }), "request");

const body = (value: unknown): RequestBody => ({ _tag: "json", value });

export const readPass = (content: Content): Result.Result<PassOutput, string> => {
  if (content._tag === "protobuf") return Protobuf.readPass(content.bytes);
  return content._tag === "json" ? Json.readPass(content.value) : Result.fail(content.why);
};

export const readSample = (content: Content): Result.Result<SampleOutput, string> => {
  if (content._tag === "protobuf") return Protobuf.readSample(content.bytes);
  return content._tag === "json" ? Json.readSample(content.value) : Result.fail(content.why);
};

const flatMap = <A, B>(
  read: (content: Content) => Result.Result<A, string>,
  then: (value: A) => Result.Result<B, string>,
) => {
  return (content: Content): Result.Result<B, string> => {
    const first = read(content);
    return Result.isFailure(first) ? Result.fail(first.failure) : then(first.success);
  };
};

/** Splits the data into parts of at most `tokens` tokens; a longer sequence is a part of its own. */
const splitData = (data: readonly Datum[], tokens: number): readonly (readonly Datum[])[] => {
  const parts: Datum[][] = [];
  let room = 0;
  for (const datum of data) {
    const last = parts.at(-1);
    if (last !== undefined && datum.tokens.length <= room) last.push(datum);
    else {
      parts.push([datum]);
      room = tokens;
    }
    room -= datum.tokens.length;
  }
  return parts;
};

export class TinkerModel {
  readonly id: string;
  readonly #connection: Connection;
  readonly #options: TinkerModelOptions & { readonly requestTokens: number };
  readonly #format: BodyFormat;
  /** Rule for requests that must not count twice. */
  #resendRule: ResendRule = "unseen";
  #requestCount = 0;
  #sessionCount = 0;

  constructor(
    id: string,
    connection: Connection,
    options: TinkerModelOptions & { readonly requestTokens: number },
    format: BodyFormat,
  ) {
    this.id = id;
    this.#connection = connection;
    this.#options = options;
    this.#format = format;
  }

  /** Creates a model with its first weights. `number` counts the models of the session. */
  static create(
    connection: Connection,
    options: TinkerModelOptions & { readonly requestTokens: number },
    number: number,
    format: BodyFormat = "json",
  ): Effect.Effect<TinkerModel, TinkerError> {
    const { baseModel, lora, role } = options;
    const request: OperationRequest<{ readonly model_id: string }> = {
      path: "create_model",
      body: body({
        session_id: connection.sessionId,
        model_seq_id: number,
        base_model: baseModel,
        user_metadata: {},
        lora_config: lora,
        // Servers without roles need not know the field.
        ...(role === "critic" ? { model_role: role } : {}),
        type: "create_model",
      }),
      // A second model would hold its place until the session ends.
      resending: "unseen",
      read: ModelCreated,
    };
    return Effect.map(
      untilLost(connection, connection.client.perform(request)),
      ({ model_id }) => new TinkerModel(model_id, connection, options, format),
    );
  }

  /** Returns the same model with another format of requests. */
  withFormat(format: BodyFormat): TinkerModel {
    const model = new TinkerModel(this.id, this.#connection, this.#options, format);
    model.#requestCount = this.#requestCount;
    model.#resendRule = this.#resendRule;
    return model;
  }

  get format(): BodyFormat {
    return this.#format;
  }

  /** Loss that a forward pass names. */
  get #idleLoss(): LossName {
    return this.#options.role === "critic" ? "ppo" : "cross_entropy";
  }

  get #client(): Client {
    return this.#connection.client;
  }

  #perform<A>(request: OperationRequest<A>): Effect.Effect<A, TinkerError> {
    return untilLost(this.#connection, this.#client.perform(request));
  }

  #nextNumber(): number {
    this.#requestCount += 1;
    return this.#requestCount;
  }

  #passRequest(
    data: readonly Datum[],
    loss: LossName,
    forwardOnly: boolean,
    config: Readonly<Record<string, number>> | undefined,
  ): OperationRequest<PassOutput> {
    const pass = {
      modelId: this.id,
      sequence: this.#nextNumber(),
      data,
      loss,
      forwardOnly,
      ...(config === undefined ? {} : { config }),
    };
    const protobuf = this.#format === "protobuf";
    return {
      path: forwardOnly && !protobuf ? "forward" : "forward_backward",
      body: protobuf ? { _tag: "protobuf", bytes: Protobuf.passBody(pass) } : body(Json.passBody(pass)),
      resending: forwardOnly ? "freely" : this.#resendRule,
      protobuf: true,
      read: readPass,
    };
  }

  /** Passes over all of the data, part by part. Returns the outputs in order of the data. */
  #passes<A>(
    data: readonly Datum[],
    loss: LossName,
    forwardOnly: boolean,
    read: (output: PassOutput, part: readonly Datum[]) => Result.Result<A, string>,
    config?: Readonly<Record<string, number>>,
  ): Effect.Effect<readonly A[], TinkerError> {
    return Effect.forEach(splitData(data, this.#options.requestTokens), (part) =>
      Effect.suspend(() => {
        const request = this.#passRequest(part, loss, forwardOnly, config);
        const pass = this.#perform({ ...request, read: flatMap(request.read, (output) => read(output, part)) });
        const tokens = part.reduce((sum, datum) => sum + datum.tokens.length, 0);
        return Effect.tap(pass, () => Effect.sync(() => this.#options.onPass?.(tokens, forwardOnly)));
      }),
    );
  }

  /** Returns the log-probability of every target. Changes nothing. */
  forward(data: readonly Datum[]): Effect.Effect<readonly Float32Array[], TinkerError> {
    return Effect.map(this.#passes(data.map(withUnitWeights), this.#idleLoss, true, logprobsOf), (outputs) =>
      outputs.flat(),
    );
  }

  /** Returns the critic's value of the text before every target. Changes nothing. */
  values(data: readonly Datum[]): Effect.Effect<readonly Float32Array[], TinkerError> {
    const read = (output: PassOutput, part: readonly Datum[]) => fieldOf(output, "values", part);
    return Effect.map(this.#passes(data.map(withUnitWeights), this.#idleLoss, true, read), (outputs) => outputs.flat());
  }

  /** Returns the whole output of forward passes. Changes nothing. */
  output(data: readonly Datum[]): Effect.Effect<readonly PassOutput[], TinkerError> {
    return this.#passes(data.map(withUnitWeights), this.#idleLoss, true, (output) => Result.succeed(output));
  }

  /** Adds the gradient of the loss over the data to that of the next step. */
  backward(
    data: readonly Datum[],
    loss: LossName,
    config?: Readonly<Record<string, number>>,
  ): Effect.Effect<readonly PassOutput[], TinkerError> {
    return this.#passes(data, loss, false, (output) => Result.succeed(output), config);
  }

  /** Steps along the gradient. Returns metrics by the server's names. */
  step(adam: AdamParameters): Effect.Effect<ReadonlyMap<string, number>, TinkerError> {
    return Effect.suspend(() =>
      this.#perform({
        path: "optim_step",
        body: body({ model_id: this.id, seq_id: this.#nextNumber(), adam_params: adam }),
        resending: this.#resendRule,
        read: flatMap(Stepped, ({ metrics }) => Result.succeed(Json.metricsIn(metrics))),
      }),
    );
  }

  /** Publishes a version to sample from, and returns its name. */
  publishVersion(): Effect.Effect<string, TinkerError> {
    return Effect.suspend(() => {
      this.#sessionCount += 1;
      return this.#perform({
        path: "save_weights_for_sampler",
        body: body({
          model_id: this.id,
          seq_id: this.#nextNumber(),
          sampling_session_seq_id: this.#sessionCount,
          type: "save_weights_for_sampler",
        }),
        resending: this.#resendRule === "same" ? "same" : "unseen",
        read: flatMap(ForSampling, ({ sampling_session_id }) => Result.succeed(sampling_session_id)),
      });
    });
  }

  /** Saves weights and optimiser as `name`. Returns their path on the server. */
  save(name: string): Effect.Effect<string, TinkerError> {
    return Effect.suspend(() =>
      this.#perform({
        path: "save_weights",
        body: body({ model_id: this.id, path: name, seq_id: this.#nextNumber(), type: "save_weights" }),
        resending: this.#resendRule,
        read: flatMap(Saved, ({ path }) => Result.succeed(path)),
      }),
    );
  }

  /** Loads saved weights and optimiser. It must be the model's first request. */
  load(path: string): Effect.Effect<void, TinkerError> {
    return Effect.suspend(() =>
      this.#perform({
        path: "load_weights",
        body: body({ model_id: this.id, path, optimizer: true, seq_id: this.#nextNumber(), type: "load_weights" }),
        resending: "unseen",
        read: readNothing,
      }),
    );
  }

  /** Removes the model, which frees its place. */
  unload(): Effect.Effect<void, TinkerError> {
    return this.#perform({
      path: "unload_model",
      body: body({ model_id: this.id, type: "unload_model" }),
      resending: "freely",
      read: readNothing,
    });
  }

  /** Detects if the server recognises a repeated request by its number. Both requests ask for a pass that changes nothing. */
  readonly detectResending: (data: readonly Datum[]) => Effect.Effect<void, TinkerError> = Effect.fnUntraced(
    { self: this },
    function* (this: TinkerModel, data: readonly Datum[]) {
      const request = this.#passRequest(data.map(withUnitWeights), this.#idleLoss, true, undefined);
      const once = { ...request, direct: true as const, resending: "freely" as const, read: RequestAccepted };
      const first = yield* this.#perform(once);
      const second = yield* Effect.option(this.#perform(once));
      const isKnownAgain = second._tag === "Some" && second.value.request_id === first.request_id;
      this.#resendRule = isKnownAgain ? "same" : "unseen";
    },
  );

  /** True if requests that count may be repeated. */
  get canResend(): boolean {
    return this.#resendRule === "same";
  }

  /** Returns the base model's log-probabilities of all ids but the first. */
  baseLogProbs(ids: Int32Array): Effect.Effect<Float32Array, TinkerError> {
    return this.#perform({
      path: "asample",
      body: body({
        base_model: this.#options.baseModel,
        num_samples: 1,
        prompt: Json.prompt(ids),
        sampling_params: { max_tokens: 1, seed: 0, temperature: 1, top_k: -1, top_p: 1 },
        prompt_logprobs: true,
        type: "sample",
      }),
      resending: "freely",
      protobuf: true,
      read: flatMap(readSample, (output) => checkPromptLogprobs(output, ids)),
    });
  }
}

/** Forward passes return the log-probabilities of tokens with weights, so every token gets weight 1. */
const withUnitWeights = (datum: Datum): Datum => ({
  ...datum,
  tensors: { weights: new Float32Array(datum.tokens.length).fill(1), ...datum.tensors },
});
