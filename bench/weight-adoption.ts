/**
 * Measures what new weights cost the generator while all its slots decode. The first figure is the time inside its
 * thread from seeing them to using them; their buffer is handed over, not copied. The second is the tokens lost
 * against decoding undisturbed.
 */
import type { MessagePort } from "node:worker_threads";
import { Effect, Fiber } from "effect";
import { type AdoptedMessage, fullPayload, type WeightsMessage } from "../src/model/weights/Weights.ts";
import { type Bench, figureOf, type Measured } from "./Bench.ts";
import { ask, start, together } from "./generators.ts";
import { medium, randomWeights, sizeOf } from "./models.ts";
import { samplesOf } from "./samples.ts";

const SLOTS = 32;
const VERSIONS = 30;
const TOKENS = 50;
/** Decode steps are about 10 ms; weights come several times a second. */
const BETWEEN_MS = 100;

const adopted = (port: MessagePort): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    port.once("message", (_: AdoptedMessage) => resume(Effect.void));
  });

const measureAdoption: Effect.Effect<Measured> = Effect.gen(function* () {
  const config = medium;
  const generator = yield* start({ config, threads: 1, slots: SLOTS });
  const [port] = generator.ports;
  if (port === undefined) return yield* Effect.die("a generator without threads");
  const { flat } = randomWeights(config);
  const play = (round: number) =>
    Effect.gen(function* () {
      const sequences = Array.from({ length: SLOTS }, (_, i) => SLOTS * round + i);
      yield* together(sequences, (sequence) => ask(generator, { config, sequence, append: 64, maxTokens: 1, turn: 1 }));
      const begun = performance.now();
      yield* together(sequences, (sequence) =>
        ask(generator, { config, sequence, append: 1, maxTokens: TOKENS, turn: 2 }),
      );
      const ms = performance.now() - begun;
      yield* together(sequences, generator.release);
      return (SLOTS * TOKENS * 1000) / ms;
    });
  yield* play(0);
  const undisturbed = [yield* play(1)];
  const inside: number[] = [];
  const around: number[] = [];
  const swap = Effect.gen(function* () {
    for (let version = 1; version <= VERSIONS; version++) {
      const payload = fullPayload(flat);
      const message: WeightsMessage = { _tag: "weights", version, payload };
      const begun = performance.now();
      port.postMessage(message, [payload.buffer]);
      yield* adopted(port);
      around.push(performance.now() - begun);
      inside.push((yield* generator.gauges).adoptionMs.last);
      yield* Effect.sleep(BETWEEN_MS);
    }
  });
  const disturbed: number[] = [];
  let round = 2;
  const swapping = yield* Effect.forkChild(swap, { startImmediately: true });
  while (swapping.pollUnsafe() === undefined) disturbed.push(yield* play(round++));
  yield* Fiber.join(swapping);
  undisturbed.push(yield* play(round));
  port.close();
  const measured: Measured = () => [
    figureOf(`${sizeOf(config)}: from seeing new weights to using them, median`, "ms", samplesOf(inside), {
      target: { atMost: 1 },
    }),
    { name: "the longest of them", value: Math.max(...inside), unit: "ms", repetitions: inside.length },
    figureOf("from sending to using, the running step included", "ms", samplesOf(around)),
    figureOf("tokens a second undisturbed", "1/s", samplesOf(undisturbed)),
    figureOf(`tokens a second with new weights every ${BETWEEN_MS} ms`, "1/s", samplesOf(disturbed)),
  ];
  return measured;
}).pipe(Effect.scoped, Effect.orDie);

export const bench: Bench = {
  question: "how long does it take a generator to adopt new weights?",
  parts: [() => Effect.runPromise(measureAdoption)],
};
