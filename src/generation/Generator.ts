/**
 * Starts generator threads and returns the policy service over them. New weights reach the threads on ports that the caller gives to the
 * learner. Invariant: once a thread is dead, every waiting and every later request fails at once.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { type Context, Effect, type Scope } from "effect";
import { generatorDevice } from "../config/devices.ts";
import { isFixedLag, keptVersions } from "../config/fixedLag.ts";
import type { GenerationSection, ModelSection, RunConfig } from "../config/RunConfig.ts";
import { cpu, type Device } from "../domain/Device.ts";
import type { Version } from "../domain/Episode.ts";
import { PolicyError } from "../domain/Errors.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import type { NumberFormat } from "../model/graphs/NumberFormat.ts";
import type { Model } from "../model/Model.ts";
import { type Base, baseInFormat, baseOf } from "../model/runtime/baseFeeds.ts";
import type { Runtime } from "../model/runtime/Session.ts";
import { make as makeThread, type ThreadFailure } from "../model/runtime/Thread.ts";
import type { BytesOf } from "../model/tokenizer/ByteDecoder.ts";
import type { EarlierVersion, Payload } from "../model/weights/Weights.ts";
import { CommonVersion } from "./CommonVersion.ts";
import type { GeneratorProtocol, StartRequest } from "./GeneratorProtocol.ts";
import { type GeneratorThread, GeneratorThreads } from "./GeneratorThreads.ts";
import { generatorEntry } from "./generatorEntry.ts";
import type { Policy } from "./Policy.ts";
import { prepacksWeights, type WeightsUse } from "./prepacking.ts";
import type { SchedulerOptions } from "./Scheduler.ts";
import { type TokenBytes, tokenBytes } from "./TokenBytes.ts";
import type { VersionRetention } from "./WeightSets.ts";

export interface GeneratorOptions {
  readonly config: DecoderConfig;
  /** Device of the threads. Default CPU. */
  readonly device?: Device;
  readonly version: Version;
  /** Trained parameters in specification order; they are copied. */
  readonly parameters: Float32Array;
  /** Versions before this one, ascending, which a resumed run still needs. Default none. */
  readonly earlier?: readonly EarlierVersion[];
  /** Versions that each thread keeps. By default the newest, and with several threads the one before it. */
  readonly retention?: VersionRetention;
  /** Frozen weights under a LoRA adapter; absent when the whole model is trained. */
  readonly base?: Base | undefined;
  /** Number format of the matrices, default float32. The base must have the same one. */
  readonly format?: NumberFormat;
  readonly threads: (typeof ModelSection.Type)["generator_threads"];
  /** Intra-op threads of each generator thread. Default 1. */
  readonly intraOpThreads?: number;
  /** True if the runtime packs weights once instead of in every decode step. Default false. */
  readonly prepacks?: boolean;
  /** Runtime of the model. Default onnxruntime. */
  readonly runtime?: Runtime;
  readonly generation: Pick<typeof GenerationSection.Type, "slots" | "stop" | "kv_on_update" | "prefill_tokens">;
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
  /** Returns the bytes of an id, for stop sequences. */
  readonly bytesOf: BytesOf;
  /** See `SchedulerOptions.refeeding`. Default exact. */
  readonly refeeding?: SchedulerOptions["refeeding"];
  /** See `SchedulerOptions.recordsFills`. Default false. */
  readonly recordsFills?: boolean;
  /** While others decode, a prefill waits for this many sequences, at most `prefillPatience` decode steps. */
  readonly prefillRows?: number;
  readonly prefillPatience?: number;
}

export interface Generator extends Context.Service.Shape<typeof Policy> {
  /** One port per thread for the learner, each transferable once. A WeightsMessage goes in, an AdoptedMessage comes out. */
  readonly ports: readonly MessagePort[];
  /** Keeps the newest version that every thread has, until the scope closes. Requests can pin it meanwhile. */
  readonly hold: Effect.Effect<Version, PolicyError, Scope.Scope>;
  /** Suspends until a thread is gone and then fails. */
  readonly died: Effect.Effect<never, PolicyError>;
}

export const DEFAULT_PREFILL_ROWS = 4;
export const DEFAULT_PREFILL_PATIENCE = 4;

/** A payload that is sent whole. */
type PayloadOfParameters = Exclude<Payload, { readonly _tag: "remote" }>;

const reasonOf = (failure: ThreadFailure): PolicyError["reason"] => {
  if (failure.reason === "thread_died") return "thread_died";
  const { code } = failure;
  return code === "bad_request" || code === "not_finite" ? code : "session_failed";
};

const policyError = (failure: ThreadFailure): PolicyError =>
  new PolicyError({ reason: reasonOf(failure), message: failure.message, cause: failure.cause });

/** Starts thread `index`, opens its model, and reports its adoptions to `versions`. */
const startThread = Effect.fnUntraced(function* (
  index: number,
  options: GeneratorOptions,
  tokens: TokenBytes,
  versions: CommonVersion,
) {
  const { generation } = options;
  const channel = new MessageChannel();
  yield* Effect.addFinalizer(() => Effect.sync(() => channel.port2.close()));
  const thread = yield* makeThread<GeneratorProtocol, PolicyError>({
    ...generatorEntry(index),
    fail: policyError,
    onEvent: ({ version }) => versions.recordAdoption(index, version),
    onDeath: (error) => versions.fail(error),
  });
  const { base } = options;
  const payloadOf = (parameters: Float32Array): PayloadOfParameters => ({
    _tag: base === undefined ? "full" : "adapter",
    buffer: parameters.slice().buffer,
  });
  const payload = payloadOf(options.parameters);
  const earlier = (options.earlier ?? []).map(({ parameters, version }) => ({
    version,
    payload: payloadOf(parameters),
  }));
  const request: StartRequest = {
    config: options.config,
    device: options.device ?? cpu,
    version: options.version,
    payload,
    earlier,
    base,
    format: options.format ?? "float32",
    intraOpThreads: options.intraOpThreads ?? 1,
    prepacks: options.prepacks ?? false,
    weights: channel.port1,
    runtime: options.runtime ?? "onnx",
    slots: generation.slots,
    prefillTokens: generation.prefill_tokens,
    prefillRows: options.prefillRows ?? DEFAULT_PREFILL_ROWS,
    prefillPatience: options.prefillPatience ?? DEFAULT_PREFILL_PATIENCE,
    refeeding: options.refeeding ?? "exact",
    recordsFills: options.recordsFills ?? false,
    kvOnUpdate: generation.kv_on_update,
    // A hold asks for a version that all threads have, which may be the one before a thread's newest.
    retention: options.retention ?? { kept: options.threads > 1 ? 2 : 1, isStrict: false },
    stopIds: options.stopIds,
    stops: generation.stop,
    tokens,
  };
  const buffers = [payload, ...earlier.map(({ payload }) => payload)].map(({ buffer }) => buffer);
  yield* thread.call("start", request, [channel.port1, ...buffers]);
  const started: GeneratorThread = { thread, port: channel.port2 };
  return started;
});

/** Starts the threads and their models. Fails with PolicyError if a thread dies or a session refuses. */
export const make = Effect.fnUntraced(function* (
  options: GeneratorOptions,
): Effect.fn.Return<Generator, PolicyError, Scope.Scope> {
  const { config } = options;
  const tokens = tokenBytes(config.vocabSize, options.bytesOf);
  const versions = new CommonVersion(options.threads, options.version);
  const indices = Array.from({ length: options.threads }, (_, index) => index);
  const started = yield* Effect.forEach(indices, (index) => startThread(index, options, tokens, versions), {
    concurrency: "unbounded",
  });
  const threads = new GeneratorThreads(started, versions, yield* Effect.scope);
  return {
    ports: started.map(({ port }) => port),
    generate: (request) => threads.generate(request),
    release: (sequence) => threads.release(sequence),
    version: versions.newestOrFailure,
    awaitVersion: (version) => versions.awaitVersion(version),
    gauges: threads.gauges,
    hold: Effect.acquireRelease(threads.hold, (version) => threads.unhold(version)),
    died: Effect.raceAllFirst(started.map(({ thread }) => thread.died)),
  };
});

/** Parts of a generator of threads beside its model. */
export interface LocalGeneratorParts {
  /** Versions before the newest one that a resumed run needs, ascending. Default none. */
  readonly earlier?: readonly EarlierVersion[];
  /** Default `changing`. */
  readonly weights?: WeightsUse;
}

/** Returns what opens the model of a run file's generator: its form, its frozen weights, and how it computes. */
export const localModel = (config: RunConfig, { checkpoint }: Pick<Model, "checkpoint">, weights: WeightsUse) => {
  const { config: decoder, parameters } = checkpoint;
  const format = config.model.generator_dtype;
  const base = baseOf(decoder, parameters);
  return {
    config: decoder,
    device: generatorDevice(config.model),
    base: base && baseInFormat(format, decoder, base),
    format,
    intraOpThreads: config.model.generator_intra_op,
    prepacks: prepacksWeights(config.model, decoder, weights),
    runtime: config.model.runtime,
  };
};

/** Starts the generator threads of a run file with the weights of `model` as `version`. */
export const localGenerator = (
  config: RunConfig,
  model: Model,
  version: Version,
  { earlier = [], weights = "changing" }: LocalGeneratorParts = {},
) => {
  const { adapter, parameters } = model.checkpoint;
  return make({
    ...localModel(config, model, weights),
    version,
    earlier,
    ...(isFixedLag(config) ? { retention: { kept: keptVersions(config), isStrict: true } } : {}),
    parameters: (adapter?.parameters ?? parameters).flat,
    threads: config.model.generator_threads,
    generation: config.generation,
    // Async runs without a fixed lag are not reproducible anyway: their tokens depend on when weights arrive.
    refeeding: config.pipeline.mode === "async" && !isFixedLag(config) ? "fast" : "exact",
    recordsFills: config.trainer.replay,
    stopIds: model.stopIds,
    bytesOf: model.tokenizer.bytesOf,
  });
};
