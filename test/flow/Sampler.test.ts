import { describe, it } from "@effect/vitest";
import { Effect, Layer } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import * as Bus from "../../src/flow/Bus.ts";
import * as Sampler from "../../src/flow/Sampler.ts";
import * as Stage from "../../src/flow/Stage.ts";
import * as StageRegistry from "../../src/flow/StageRegistry.ts";

const usage = (): Bus.ProcessSample => ({
  cpuMs: 0,
  rssBytes: 0,
  heapBytes: 0,
  loopLagMs: { p99: 0, max: 0 },
});

/** Samples now and a second later, between which `change` takes place. */
const sampled = (change: (registry: typeof StageRegistry.StageRegistry.Service) => Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const bus = yield* Bus.Bus;
    const registry = yield* StageRegistry.StageRegistry;
    const samples: Bus.Sample[] = [];
    bus.onSample((sample) => void samples.push(sample));
    yield* Effect.forkChild(Sampler.run(1000, usage), { startImmediately: true });
    yield* change(registry);
    yield* TestClock.adjust(1000);
    return samples;
  }).pipe(Effect.provide(Layer.mergeAll(Bus.layer(), StageRegistry.layer)));

describe("a sample of a run", () => {
  it.effect("has the stages, and apart from them what else can be set", () =>
    Effect.gen(function* () {
      const samples = yield* sampled(
        Effect.fnUntraced(function* (registry) {
          registry.add(yield* Stage.service({ name: "generate", concurrency: 4, run: () => Effect.void }));
          registry.addSetting({ name: "lanes", most: 2, concurrency: () => 1, setConcurrency: () => Effect.void });
        }),
      );
      expect(samples.map(({ stages }) => stages.map(({ name }) => name))).toEqual([[], ["generate"]]);
      expect(samples[0]).not.toHaveProperty("settings");
      expect(samples[1]?.settings).toEqual([{ name: "lanes", concurrency: 1, most: 2 }]);
    }),
  );
});
