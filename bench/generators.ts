/** Generator threads for benches: a model at random weights on the given number of threads, and the requests that drive it. */
import { Effect, type Scope } from "effect";
import { cpu, type Device } from "../src/domain/Device.ts";
import type { Sampled } from "../src/domain/Episode.ts";
import type { PolicyError } from "../src/domain/Errors.ts";
import { stream } from "../src/domain/Random.ts";
import * as Generator from "../src/generation/Generator.ts";
import type { DecoderConfig } from "../src/model/graphs/Architecture.ts";
import type { NumberFormat } from "../src/model/graphs/NumberFormat.ts";
import type { Runtime } from "../src/model/runtime/Session.ts";
import { randomWeights } from "./models.ts";

export interface GeneratorShape {
  readonly config: DecoderConfig;
  readonly threads: number;
  /** Sequences at once, per thread. */
  readonly slots: number;
  /** Default onnxruntime. */
  readonly runtime?: Runtime;
  /** Default CPU. */
  readonly device?: Device;
  /** Number format of the linear layers; default float32. */
  readonly format?: NumberFormat;
  /** Intra-op threads of each thread; default 1. */
  readonly intraOpThreads?: number;
  /** Default false. */
  readonly prepacks?: boolean;
  /** The way in which sequences that lost their slots are fed again; default exact. */
  readonly refills?: "exact" | "fast";
}

/** No id ends a reply, but the stop sequence is looked for in every one. */
export const start = ({
  config,
  threads,
  slots,
  runtime = "onnx",
  device = cpu,
  format = "float32",
  refills = "exact",
  intraOpThreads = 1,
  prepacks = false,
}: GeneratorShape): Effect.Effect<Generator.Generator, PolicyError, Scope.Scope> =>
  Generator.make({
    config,
    runtime,
    device,
    format,
    intraOpThreads,
    prepacks,
    refeeding: refills,
    version: 0,
    parameters: randomWeights(config).flat,
    threads,
    generation: { slots, stop: ["</answer>"], kv_on_update: "keep", prefill_tokens: 2048 },
    stopIds: [],
    bytesOf: (id) => Uint8Array.of(97 + (id % 20)),
  });

export interface Ask {
  readonly config: DecoderConfig;
  readonly sequence: number;
  /** Prompt tokens, drawn at random. */
  readonly append: number;
  readonly maxTokens: number;
  readonly turn: number;
}

export const ask = (
  generator: Generator.Generator,
  { config, sequence, append, maxTokens, turn }: Ask,
): Effect.Effect<Sampled, PolicyError> => {
  const random = stream({ seed: 1, purpose: "play", counters: [sequence, turn] });
  return generator.generate({
    sequence,
    append: Int32Array.from({ length: append }, () => random.int(config.vocabSize)),
    sharedPrefix: 0,
    maxTokens,
    sampling: { temperature: 1, topK: -1, topP: 1 },
    key: { seed: 1, purpose: "sampling", counters: [sequence, turn] },
    pin: null,
  });
};

/** One effect per sequence, all at once. */
export const together = <A, E>(
  sequences: readonly number[],
  each: (sequence: number) => Effect.Effect<A, E>,
): Effect.Effect<readonly A[], E> => Effect.forEach(sequences, each, { concurrency: "unbounded" });
