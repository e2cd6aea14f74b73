/**
 * A model in training on a Tinker server: passes over data, optimiser steps, versions for sampling, and saved states. Requests are numbered in the order
 * in which they are sent, one at a time. Invariant: a request that adds to a gradient or takes a step is not counted twice: it is sent again only
 * where the server was seen to know it again by its number.
 */
import { Effect, Result, Schema } from "effect";
import type { Body, Client, Request } from "./Client.ts";

import { type Connection, during, json, nothing } from "./Connection.ts";
import type { Content, Resending } from "./Operation.ts";
import type { TinkerError } from "./TinkerError.ts";
import { type Datum, fieldOf, type LossName, logprobsOf, type PassOutput } from "./wire/Data.ts";
import * as Json from "./wire/json.ts";
import * as Protobuf from "./wire/protobuf.ts";
import { promptLogprobs, type SampleOutput } from "./wire/Sample.ts";

/** `critic` is SkyRL-Train's, beside a policy. */
export type Role = "policy" | "critic";

export interface ModelOptions {
  readonly baseModel: string;
  /** Default policy. */
  readonly role?: Role;
  readonly lora: {
    readonly rank: number;
    readonly seed: number;
    readonly train_mlp: boolean;
    readonly train_attn: boolean;
    readonly train_unembed: boolean;
  };
  /** Is told of the tokens of each pass that has been made. */
  readonly passed?: (tokens: number, forwardOnly: boolean) => void;
}

/** Adam's constants of one step, by the server's names. */
export interface Adam {
  readonly learning_rate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weight_decay: number;
  /** 0: none. */
  readonly grad_clip_norm: number;
}

export type BodyFormat = "json" | "protobuf";

const Id = Schema.NonEmptyString.check(Schema.isMaxLength(512));
const ModelCreated = json(Schema.Struct({ model_id: Id }), "model");
const Saved = json(Schema.Struct({ path: Schema.NonEmptyString.check(Schema.isMaxLength(4_096)) }), "saved state");
const ForSampling = json(Schema.Struct({ sampling_session_id: Id }), "sampling session");
const Stepped = json(
  Schema.Struct({
    metrics: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
  }),
  "optimiser step",
);
const Taken = json(Schema.Struct({ request_id: Id }), "request");

const body = (value: unknown): Body => ({ _tag: "json", value });

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

/** The data in parts of at most `tokens` each; a longer sequence is a part of its own. */
const parts = (data: readonly Datum[], tokens: number): readonly (readonly Datum[])[] => {
  const made: Datum[][] = [];
  let room = 0;
  for (const datum of data) {
    const last = made.at(-1);
    if (last !== undefined && datum.tokens.length <= room) last.push(datum);
    else {
      made.push([datum]);
      room = tokens;
    }
    room -= datum.tokens.length;
  }
  return made;
};

export class Model {
  readonly id: string;
  readonly #connection: Connection;
  readonly #options: ModelOptions & { readonly requestTokens: number };
  readonly #format: BodyFormat;
  /** Of requests that must not count twice. */
  #counting: Resending = "unseen";
  #sequence = 0;
  #sessions = 0;

  constructor(
    id: string,
    connection: Connection,
    options: ModelOptions & { readonly requestTokens: number },
    format: BodyFormat,
  ) {
    this.id = id;
    this.#connection = connection;
    this.#options = options;
    this.#format = format;
  }

  /** A new model, with its first weights. `number` counts the models of the session. */
  static create(
    connection: Connection,
    options: ModelOptions & { readonly requestTokens: number },
    number: number,
    format: BodyFormat = "json",
  ): Effect.Effect<Model, TinkerError> {
    const { baseModel, lora, role } = options;
    const request: Request<{ readonly model_id: string }> = {
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
      // A second one would hold its place until the session ends.
      resending: "unseen",
      read: ModelCreated,
    };
    return Effect.map(
      during(connection, connection.client.ask(request)),
      ({ model_id }) => new Model(model_id, connection, options, format),
    );
  }

  /** The same model, spoken to in another format. */
  in(format: BodyFormat): Model {
    const model = new Model(this.id, this.#connection, this.#options, format);
    model.#sequence = this.#sequence;
    model.#counting = this.#counting;
    return model;
  }

  get format(): BodyFormat {
    return this.#format;
  }

  /** The loss that a pass which changes nothing names. */
  get #idle(): LossName {
    return this.#options.role === "critic" ? "ppo" : "cross_entropy";
  }

  get #client(): Client {
    return this.#connection.client;
  }

  #ask<A>(request: Request<A>): Effect.Effect<A, TinkerError> {
    return during(this.#connection, this.#client.ask(request));
  }

  #next(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  #passRequest(
    data: readonly Datum[],
    loss: LossName,
    forwardOnly: boolean,
    config: Readonly<Record<string, number>> | undefined,
  ): Request<PassOutput> {
    const pass = {
      modelId: this.id,
      sequence: this.#next(),
      data,
      loss,
      forwardOnly,
      ...(config === undefined ? {} : { config }),
    };
    const protobuf = this.#format === "protobuf";
    return {
      path: forwardOnly && !protobuf ? "forward" : "forward_backward",
      body: protobuf ? { _tag: "protobuf", bytes: Protobuf.passBody(pass) } : body(Json.passBody(pass)),
      resending: forwardOnly ? "freely" : this.#counting,
      protobuf: true,
      read: readPass,
    };
  }

  /** Passes over all of the data, part by part; the outputs in its order. */
  #passes<A>(
    data: readonly Datum[],
    loss: LossName,
    forwardOnly: boolean,
    read: (output: PassOutput, part: readonly Datum[]) => Result.Result<A, string>,
    config?: Readonly<Record<string, number>>,
  ): Effect.Effect<readonly A[], TinkerError> {
    return Effect.forEach(parts(data, this.#options.requestTokens), (part) =>
      Effect.suspend(() => {
        const request = this.#passRequest(part, loss, forwardOnly, config);
        const asked = this.#ask({ ...request, read: flatMap(request.read, (output) => read(output, part)) });
        const tokens = part.reduce((sum, datum) => sum + datum.tokens.length, 0);
        return Effect.tap(asked, () => Effect.sync(() => this.#options.passed?.(tokens, forwardOnly)));
      }),
    );
  }

  /** The log-probability of every target of the data. Changes nothing. */
  forward(data: readonly Datum[]): Effect.Effect<readonly Float32Array[], TinkerError> {
    return Effect.map(this.#passes(data.map(weighted), this.#idle, true, logprobsOf), (found) => found.flat());
  }

  /** The value of every target of the data, of the text before it, by a critic. Changes nothing. */
  values(data: readonly Datum[]): Effect.Effect<readonly Float32Array[], TinkerError> {
    const read = (output: PassOutput, part: readonly Datum[]) => fieldOf(output, "values", part);
    return Effect.map(this.#passes(data.map(weighted), this.#idle, true, read), (found) => found.flat());
  }

  /** The whole output of a pass that changes nothing. */
  output(data: readonly Datum[]): Effect.Effect<readonly PassOutput[], TinkerError> {
    return this.#passes(data.map(weighted), this.#idle, true, (output) => Result.succeed(output));
  }

  /** Adds the gradient of the loss over the data to what the next step takes. */
  backward(
    data: readonly Datum[],
    loss: LossName,
    config?: Readonly<Record<string, number>>,
  ): Effect.Effect<readonly PassOutput[], TinkerError> {
    return this.#passes(data, loss, false, (output) => Result.succeed(output), config);
  }

  /** Steps along the gradient. Its metrics, as the server names them. */
  step(adam: Adam): Effect.Effect<ReadonlyMap<string, number>, TinkerError> {
    return Effect.suspend(() =>
      this.#ask({
        path: "optim_step",
        body: body({ model_id: this.id, seq_id: this.#next(), adam_params: adam }),
        resending: this.#counting,
        read: flatMap(Stepped, ({ metrics }) => Result.succeed(Json.metricsIn(metrics))),
      }),
    );
  }

  /** Makes a version to sample from. Its name. */
  forSampling(): Effect.Effect<string, TinkerError> {
    return Effect.suspend(() => {
      this.#sessions += 1;
      return this.#ask({
        path: "save_weights_for_sampler",
        body: body({
          model_id: this.id,
          seq_id: this.#next(),
          sampling_session_seq_id: this.#sessions,
          type: "save_weights_for_sampler",
        }),
        resending: this.#counting === "same" ? "same" : "unseen",
        read: flatMap(ForSampling, ({ sampling_session_id }) => Result.succeed(sampling_session_id)),
      });
    });
  }

  /** Saves weights and optimiser under `name` on the server. Where they lie. */
  save(name: string): Effect.Effect<string, TinkerError> {
    return Effect.suspend(() =>
      this.#ask({
        path: "save_weights",
        body: body({ model_id: this.id, path: name, seq_id: this.#next(), type: "save_weights" }),
        resending: this.#counting,
        read: flatMap(Saved, ({ path }) => Result.succeed(path)),
      }),
    );
  }

  /** Goes on from what was saved. The first request of a model, or none. */
  load(path: string): Effect.Effect<void, TinkerError> {
    return Effect.suspend(() =>
      this.#ask({
        path: "load_weights",
        body: body({ model_id: this.id, path, optimizer: true, seq_id: this.#next(), type: "load_weights" }),
        resending: "unseen",
        read: nothing,
      }),
    );
  }

  /** Gives the model's place back. */
  unload(): Effect.Effect<void, TinkerError> {
    return this.#ask({
      path: "unload_model",
      body: body({ model_id: this.id, type: "unload_model" }),
      resending: "freely",
      read: nothing,
    });
  }

  /**
   * Sees whether the server knows a request again that comes twice under one number. Both ask for a pass that changes nothing.
   */
  readonly learnResending: (data: readonly Datum[]) => Effect.Effect<void, TinkerError> = Effect.fnUntraced(
    { self: this },
    function* (this: Model, data: readonly Datum[]) {
      const request = this.#passRequest(data.map(weighted), this.#idle, true, undefined);
      const once = { ...request, direct: true as const, resending: "freely" as const, read: Taken };
      const first = yield* this.#ask(once);
      const second = yield* Effect.option(this.#ask(once));
      const same = second._tag === "Some" && second.value.request_id === first.request_id;
      this.#counting = same ? "same" : "unseen";
    },
  );

  /** Whether requests that count may be sent again. */
  get resends(): boolean {
    return this.#counting === "same";
  }

  /** Log-probabilities of the ids, but the first, under the model that this one was made from. */
  base(ids: Int32Array): Effect.Effect<Float32Array, TinkerError> {
    return this.#ask({
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
      read: flatMap(readSample, (output) => promptLogprobs(output, ids)),
    });
  }
}

/** A forward pass asks for the log-likelihood of all of a datum. */
const weighted = (datum: Datum): Datum => ({
  ...datum,
  tensors: { weights: new Float32Array(datum.tokens.length).fill(1), ...datum.tensors },
});
