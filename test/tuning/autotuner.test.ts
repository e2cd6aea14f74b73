import { expect, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { knobs, machines, shapeOf, starts } from "../../bench/machines.ts";
import type { Control } from "../../src/domain/Control.ts";
import type { RunSample } from "../../src/simulation/RunShape.ts";
import { run } from "../../src/simulation/run.ts";
import * as Bus from "../../src/stage/Bus.ts";
import * as autotuner from "../../src/tuning/autotuner.ts";

const samples = (): readonly RunSample[] => {
  const taken: RunSample[] = [];
  const shape = shapeOf(machines[0]!, starts["few slots"]!, 1);
  run({ ...shape, until: 12_000, observer: { everyMs: 1000, onSample: (sample) => void taken.push(sample) } });
  return taken;
};

it.effect("has what it decides from the bus's samples carried out, with its reason", () =>
  Effect.gen(function* () {
    const bus = yield* Bus.Bus;
    const applied: { readonly control: Control; readonly reason: string }[] = [];
    const tuning = yield* Effect.forkChild(
      autotuner.run({
        knobs,
        setting: { mode: "async" },
        apply: (control, reason) => Effect.sync(() => void applied.push({ control, reason })),
      }),
    );
    yield* Effect.yieldNow;
    for (const { elapsedMs, stages } of samples()) {
      yield* TestClock.adjust(1000);
      yield* bus.sampled({
        elapsedMs,
        stages,
        tokens: { generated: 0, trained: 0 },
        groupsInFlight: 0,
        process: { cpuMs: 0, rssBytes: 0, heapBytes: 0, loopLagMs: { p99: 0, max: 0 } },
      });
      yield* Effect.yieldNow;
    }
    expect(applied[0]?.control).toMatchObject({ _tag: "SetConcurrency", stage: "step" });
    expect(applied[0]?.reason).toMatch(/in service take/);
    yield* Fiber.interrupt(tuning);
  }).pipe(Effect.provide(Bus.layer())),
);
