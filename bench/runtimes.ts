/**
 * What `model.runtime` costs: one update and one decode step of a tiny decoder on onnxruntime and on tfjs, whichever of its packages is
 * installed; the package's own plain JavaScript is the slowest of them. One thread each, the same batches.
 */
import { Effect, Schema } from "effect";
import { ActorSection, AlgorithmSection, CriticSection } from "../src/config/RunConfig.ts";
import type { CreditedBatch } from "../src/domain/Batch.ts";
import { stream } from "../src/domain/Random.ts";
import { Trainer } from "../src/learner/Trainer.ts";
import type { DecoderConfig } from "../src/policy/model/Architecture.ts";
import { type Runtime, useRuntime } from "../src/policy/runtime/Session.ts";
import { installedPeer } from "../src/policy/runtime/tfjs/peer.ts";
import { type Bench, figureOf, type Measured } from "./Bench.ts";
import { ask, start, together } from "./generators.ts";
import { randomWeights, sizeOf, small } from "./models.ts";
import { rates, repeat } from "./samples.ts";

const tiny: DecoderConfig = {
  ...small,
  vocabSize: 200,
  hiddenSize: 32,
  intermediateSize: 64,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 16,
};

const ROWS = 8;
const TIME = 64;
const TRAINED = 32;
const SLOTS = 8;
const REPLY = 16;

const titleOf = (runtime: Runtime): string =>
  `${sizeOf(tiny)}, ${runtime === "onnx" ? "onnxruntime" : `tfjs (${installedPeer() ?? "not installed"})`}`;

const batchOf = (window: number): CreditedBatch => {
  const random = stream({ seed: 1, purpose: "play", counters: [window] });
  const tokens = ROWS * TIME;
  const mask = Uint8Array.from({ length: tokens }, (_, t) => (t % TIME >= TIME - TRAINED ? 1 : 0));
  const normal = () => Float32Array.from(mask, (m) => m * random.normal());
  return {
    window,
    ids: Int32Array.from({ length: tokens }, () => random.int(tiny.vocabSize)),
    offsets: Int32Array.from({ length: ROWS + 1 }, (_, row) => row * TIME),
    mask,
    mu: Float32Array.from(mask, (m) => -m * Math.log(tiny.vocabSize)),
    versions: Int32Array.from(mask, (m) => m - 1),
    rewards: new Float32Array(tokens),
    placement: "sequence",
    groups: Int32Array.from({ length: ROWS }, (_, row) => row >> 2),
    members: Int32Array.from({ length: ROWS }, (_, row) => row & 3),
    sequenceIndex: new Int32Array(ROWS),
    temperature: 1,
    keptRatio: 1,
    advantages: normal(),
    values: normal(),
    returns: normal(),
  };
};

const measureUpdate = async (runtime: Runtime): Promise<Measured> => {
  useRuntime(runtime);
  await using trainer = await Trainer.open(tiny, randomWeights(tiny), {
    seed: 1,
    lanes: 1,
    threads: 1,
    totalUpdates: 100,
    algorithm: Schema.decodeUnknownSync(AlgorithmSection)({ adv_estimator: "grpo" }),
    actor: Schema.decodeUnknownSync(ActorSection)({}),
    critic: Schema.decodeUnknownSync(CriticSection)({}),
  });
  let window = 0;
  const times = await repeat({ iterations: 5, warmup: 1 }, () => trainer.update(batchOf(window++)));
  useRuntime("onnx");
  return () => [
    figureOf(
      `${titleOf(runtime)}: update of ${ROWS} x ${TIME}, tokens a second`,
      "1/s",
      rates(times, ROWS * TIME * 1000),
    ),
  ];
};

const measureDecode = (runtime: Runtime): Promise<Measured> =>
  Effect.gen(function* () {
    const config = tiny;
    const generator = yield* start({ config, threads: 1, slots: SLOTS, runtime });
    let round = 0;
    const decode = Effect.gen(function* () {
      const first = SLOTS * round++;
      const sequences = Array.from({ length: SLOTS }, (_, i) => first + i);
      yield* together(sequences, (sequence) =>
        ask(generator, { config, sequence, append: TIME - 2, maxTokens: 1, turn: 1 }),
      );
      const begun = performance.now();
      const replies = yield* together(sequences, (sequence) =>
        ask(generator, { config, sequence, append: 1, maxTokens: REPLY, turn: 2 }),
      );
      const ms = performance.now() - begun;
      yield* together(sequences, generator.release);
      return (ms * SLOTS * REPLY) / replies.reduce((sum, { ids }) => sum + ids.length, 0);
    });
    const times = yield* Effect.promise(() => repeat({ iterations: 5, warmup: 1 }, () => Effect.runPromise(decode)));
    const measured: Measured = () => [
      figureOf(
        `${titleOf(runtime)}: decode, batch ${SLOTS}, tokens a second`,
        "1/s",
        rates(times, SLOTS * REPLY * 1000),
      ),
    ];
    return measured;
  }).pipe(Effect.scoped, Effect.runPromise);

export const bench: Bench = {
  question: "how fast is each runtime of the model, at a tiny size?",
  parts: [
    () => measureUpdate("onnx"),
    () => measureUpdate("tfjs"),
    () => measureDecode("onnx"),
    () => measureDecode("tfjs"),
  ],
};
