import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import type { Sampled } from "../../src/domain/Episode.ts";
import { type GeneratorOptions, make } from "../../src/generation/Generator.ts";
import { type DecoderConfig, parameters } from "../../src/model/graphs/Architecture.ts";
import { ADAPTER_SCALE } from "../../src/model/graphs/Lora.ts";
import { type Parameters, sharedParameters } from "../../src/model/graphs/Parameters.ts";
import { scoreModel } from "../../src/model/graphs/Score.ts";
import { trainedParameters } from "../../src/model/graphs/TrainedParameters.ts";
import { baseInFormat, baseOf } from "../../src/model/runtime/baseFeeds.ts";
import { hasExactInt8, INEXACT_INT8 } from "../../src/model/runtime/exactInt8.ts";
import type { WeightsMessage } from "../../src/model/weights/Weights.ts";
import { type Feeds, int64, runOnce, scalar } from "../model/tensor/session.ts";
import { everyTarget, randomWeights, weightFeeds } from "../model/tiny.ts";
import { idsOf, requestOf, tiny } from "./support.ts";

/** With an output matrix of its own: rounding that does not touch the embedding. */
const untied: DecoderConfig = { ...tiny, tieEmbedding: false };
const adapted: DecoderConfig = { ...untied, adapter: { rank: 3, alpha: 3, targets: ["q_proj", "down_proj"] } };
const weightsOf = (version: number): Parameters => randomWeights(parameters(untied), 40 + version);

/** Log-probabilities of a reply behind its prompt by one float32 pass. */
const scored = async (config: DecoderConfig, feeds: Feeds, prompt: Int32Array, { ids }: Sampled) => {
  const all = [...prompt, ...ids];
  const { logp } = await runOnce(scoreModel(config), {
    ...feeds,
    ids: int64([1, all.length], all),
    before: everyTarget(1, all.length),
    temperature: scalar(1),
  });
  return Array.from(logp!.subarray(prompt.length - 1));
};

const options = (config: DecoderConfig, more: Partial<GeneratorOptions> = {}): GeneratorOptions => ({
  config,
  format: "int8",
  version: 0,
  parameters: weightsOf(0).flat,
  threads: 1,
  generation: { slots: 4, stop: [], kv_on_update: "keep", prefill_tokens: 256 },
  stopIds: [],
  bytesOf: () => new Uint8Array(),
  ...more,
});

const worst = (mu: Float32Array, logp: readonly number[]): number =>
  Math.max(...Array.from(mu, (value, i) => Math.abs(value - logp[i]!)));

const exact = await hasExactInt8();

describe.runIf(exact)("a generator in int8", () => {
  it.effect("samples from each version but for its rounding, and says so in mu", () =>
    Effect.gen(function* () {
      const generator = yield* make(options(untied));
      for (const version of [0, 1]) {
        if (version === 1) {
          const payload = { _tag: "full", buffer: weightsOf(1).flat.slice().buffer } as const;
          const message: WeightsMessage = { _tag: "weights", version, payload };
          generator.ports[0]!.postMessage(message, [payload.buffer]);
          yield* generator.awaitVersion(1);
        }
        const prompt = idsOf(9, version);
        const reply = yield* generator.generate(requestOf(version, prompt));
        const distanceTo = (weights: Parameters) =>
          Effect.promise(() => scored(untied, weightFeeds(weights), prompt, reply)).pipe(
            Effect.map((logp) => worst(reply.mu, logp)),
          );
        const distance = yield* distanceTo(weightsOf(version));
        expect(distance).toBeGreaterThan(1e-3);
        expect(distance).toBeLessThan(0.5);
        expect(yield* distanceTo(weightsOf(1 - version))).toBeGreaterThan(3);
      }
    }).pipe(Effect.scoped),
  );

  it.effect("rounds the weights beside an adapter and adds the adapter", () =>
    Effect.gen(function* () {
      const frozen = sharedParameters(parameters(untied));
      frozen.flat.set(weightsOf(0).flat);
      const adapter = randomWeights(trainedParameters(adapted), 50);
      const base = baseInFormat("int8", adapted, baseOf(adapted, frozen)!);
      const generator = yield* make(options(adapted, { parameters: adapter.flat, base, threads: 2 }));
      for (const id of [0, 1]) {
        const prompt = idsOf(9, id);
        const reply = yield* generator.generate(requestOf(id, prompt));
        const distanceAt = (scale: number) => {
          const feeds = { ...weightFeeds(weightsOf(0)), ...weightFeeds(adapter), [ADAPTER_SCALE]: scalar(scale) };
          return Effect.promise(() => scored(adapted, feeds, prompt, reply)).pipe(
            Effect.map((logp) => worst(reply.mu, logp)),
          );
        };
        const distance = yield* distanceAt(1);
        expect(distance).toBeGreaterThan(1e-3);
        expect(distance).toBeLessThan(0.5);
        expect(yield* distanceAt(0)).toBeGreaterThan(1);
      }
    }).pipe(Effect.scoped),
  );

  it.effect("gives a reply the same bits whoever shares its batch", () =>
    Effect.gen(function* () {
      const generator = yield* make(options(untied));
      const alone = yield* generator.generate(requestOf(0, idsOf(7, 0)));
      const together = yield* Effect.forEach(
        [10, 11, 12, 13],
        (id) =>
          generator.generate({
            ...requestOf(id, idsOf(id === 10 ? 7 : 5, id === 10 ? 0 : id)),
            key: requestOf(id === 10 ? 0 : id, idsOf(1)).key,
          }),
        { concurrency: "unbounded" },
      );
      expect(together[0]!.ids).toEqual(alone.ids);
      expect(together[0]!.mu).toEqual(alone.mu);
    }).pipe(Effect.scoped),
  );
});

describe.runIf(!exact)("a generator in int8, on a CPU whose products of 8-bit numbers are not exact,", () => {
  it.effect("is refused with the reason", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(make(options(untied)));
      expect(error.message).toContain(INEXACT_INT8);
    }).pipe(Effect.scoped),
  );
});
