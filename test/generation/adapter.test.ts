import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { make } from "../../src/generation/Generator.ts";
import type { DecoderConfig } from "../../src/model/graphs/Architecture.ts";
import { ADAPTER_SCALE } from "../../src/model/graphs/Lora.ts";
import { scoreModel } from "../../src/model/graphs/Score.ts";
import { trainedParameters } from "../../src/model/graphs/TrainedParameters.ts";
import { baseOf } from "../../src/model/runtime/baseFeeds.ts";
import type { WeightsMessage } from "../../src/model/weights/Weights.ts";
import { shared } from "../learner/adapted.ts";
import { int64, runOnce, scalar } from "../model/tensor/session.ts";
import { everyTarget, randomWeights, weightFeeds } from "../model/tiny.ts";
import { idsOf, requestOf, tiny, weightsOf } from "./support.ts";

const adapted: DecoderConfig = { ...tiny, adapter: { rank: 3, alpha: 3, targets: ["q_proj", "o_proj", "up_proj"] } };
const adapterOf = (version: number) => randomWeights(trainedParameters(adapted), 30 + version);

const base = () => shared(weightsOf(0));

/** Log-probabilities of ids after the first under the adapter of `version`, by one pass over all of them. */
const scored = async (ids: readonly number[], version: number) => {
  const results = await runOnce(scoreModel(adapted), {
    ...weightFeeds(weightsOf(0)),
    ...weightFeeds(adapterOf(version)),
    [ADAPTER_SCALE]: scalar(1),
    ids: int64([1, ids.length], ids),
    before: everyTarget(1, ids.length),
    temperature: scalar(1),
  });
  return results.logp!;
};

const generators = (threads: number) =>
  make({
    config: adapted,
    version: 0,
    parameters: adapterOf(0).flat,
    base: baseOf(adapted, base()),
    threads,
    generation: { slots: 4, stop: [], kv_on_update: "keep", prefill_tokens: 256 },
    stopIds: [],
    bytesOf: () => new Uint8Array(),
  });

describe("generators with an adapter", () => {
  it.effect("share the base, adopt adapters alone, and sample under them as the learner scores", () =>
    Effect.gen(function* () {
      const generator = yield* generators(2);
      for (const version of [0, 1]) {
        if (version === 1) {
          for (const port of generator.ports) {
            const payload = { _tag: "adapter", buffer: adapterOf(1).flat.slice().buffer } as const;
            port.postMessage({ _tag: "weights", version, payload } satisfies WeightsMessage, [payload.buffer]);
          }
          yield* generator.awaitVersion(1);
        }
        for (const id of [0, 1]) {
          const prompt = idsOf(9, id);
          const reply = yield* generator.generate(requestOf(10 * version + id, prompt, { maxTokens: 12 }));
          const logp = yield* Effect.promise(() => scored([...prompt, ...reply.ids], version));
          expect([...new Set(reply.versions)]).toEqual([version]);
          for (const [t, mu] of reply.mu.entries()) expect(mu).toBeCloseTo(logp[prompt.length - 1 + t]!, 3);
        }
      }
    }),
  );

  it.effect("end where a version is of another kind", () =>
    Effect.gen(function* () {
      const generator = yield* generators(1);
      const buffer = weightsOf(0).flat.slice().buffer;
      generator.ports[0]!.postMessage({
        _tag: "weights",
        version: 1,
        payload: { _tag: "full", buffer },
      } satisfies WeightsMessage);
      expect(yield* Effect.flip(generator.died)).toHaveProperty(
        "cause.message",
        "version 1 is of the kind full, not adapter",
      );
    }),
  );
});
