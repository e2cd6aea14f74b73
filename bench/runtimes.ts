/**
 * Measures the cost of `model.runtime` and `model.device`: one update and one decode step of a tiny decoder, on one
 * thread each with the same batches. onnxruntime runs on the CPU, and on WebGPU where there is an adapter (`node
 * bench/swiftshader.ts npm run bench -- runtimes`). tfjs runs by whichever of its packages is installed; the package's
 * own plain JavaScript is the slowest of them.
 */
import { Effect } from "effect";
import { cpu, type Device } from "../src/domain/Device.ts";
import { Trainer } from "../src/learner/Trainer.ts";
import type { DecoderConfig } from "../src/model/graphs/Architecture.ts";
import { deviceProblem } from "../src/model/runtime/deviceProbe.ts";
import { type Runtime, useRuntime } from "../src/model/runtime/Session.ts";
import { installedPeer } from "../src/model/runtime/tfjs/peer.ts";
import { learnerSections } from "../test/build/config.ts";
import { type Bench, figureOf, type Measured } from "./Bench.ts";
import { batchOf } from "./batches.ts";
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

/** The runtime of a model, or onnxruntime on a device. */
interface Place {
  readonly name: string;
  readonly runtime: Runtime;
  readonly device: Device;
}

const places: readonly Place[] = [
  { name: "onnxruntime", runtime: "onnx", device: cpu },
  { name: "onnxruntime on WebGPU", runtime: "onnx", device: { kind: "webgpu", index: 0 } },
  { name: `tfjs (${installedPeer() ?? "not installed"})`, runtime: "tfjs", device: cpu },
];

const titleOf = ({ name }: Place): string => `${sizeOf(tiny)}, ${name}`;

/** A row without figures where the device is not there. */
const wherePossible = (place: Place, measure: (place: Place) => Promise<Measured>) => async (): Promise<Measured> => {
  const trouble = await deviceProblem(place.device);
  return trouble === undefined ? measure(place) : () => [];
};

const measureUpdate = async (place: Place): Promise<Measured> => {
  const { device, runtime } = place;
  useRuntime(runtime);
  await using trainer = await Trainer.open(tiny, randomWeights(tiny), {
    seed: 1,
    lanes: 1,
    threads: 1,
    device,
    lossScaling: "none",
    totalUpdates: 100,
    ...learnerSections({ algorithm: { adv_estimator: "grpo" } }),
  });
  let window = 0;
  const shape = { rows: ROWS, time: TIME, trained: TRAINED, vocabSize: tiny.vocabSize };
  const times = await repeat({ iterations: 5, warmup: 1 }, () => trainer.update(batchOf(shape, window++)));
  useRuntime("onnx");
  return () => [
    figureOf(
      `${titleOf(place)}: update of ${ROWS} x ${TIME}, tokens a second`,
      "1/s",
      rates(times, ROWS * TIME * 1000),
    ),
  ];
};

const measureDecode = (place: Place): Promise<Measured> =>
  Effect.gen(function* () {
    const config = tiny;
    const { device, runtime } = place;
    const generator = yield* start({ config, threads: 1, slots: SLOTS, runtime, device });
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
      figureOf(`${titleOf(place)}: decode, batch ${SLOTS}, tokens a second`, "1/s", rates(times, SLOTS * REPLY * 1000)),
    ];
    return measured;
  }).pipe(Effect.scoped, Effect.runPromise);

export const bench: Bench = {
  question: "how fast is each runtime of the model, at a tiny size?",
  parts: [measureUpdate, measureDecode].flatMap((measure) => places.map((place) => wherePossible(place, measure))),
};
