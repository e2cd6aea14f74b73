import { expect, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { knobs, machines, shapeOf, starts } from "../../../bench/machines.ts";
import type { Control } from "../../../src/domain/Control.ts";
import * as Bus from "../../../src/flow/Bus.ts";
import type { RunSample } from "../../../src/tools/simulation/RunShape.ts";
import { run } from "../../../src/tools/simulation/run.ts";
import type * as Autotune from "../../../src/tools/tuning/Autotune.ts";
import * as autotuner from "../../../src/tools/tuning/autotuner.ts";
import * as LanesTuner from "../../../src/tools/tuning/LanesTuner.ts";

const samples = (): readonly RunSample[] => {
  const collected: RunSample[] = [];
  const shape = shapeOf(machines[0]!, starts["few slots"]!, 1);
  run({ ...shape, until: 12_000, observer: { everyMs: 1000, onSample: (sample) => void collected.push(sample) } });
  return collected;
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
      yield* bus.publishSample({
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

it("changes slots and lanes in turns", () => {
  const shape = shapeOf(machines[0]!, starts["few slots"]!, 1);
  const learner = { lanes: 2, micros: () => 8, micro: () => 50 };
  const lanes = { most: 2, lead: shape.maxStaleness };
  let state = autotuner.start({ knobs, setting: { mode: "async", groupSize: shape.groupSize }, lanes });
  let used = 2;
  const seen: {
    readonly trying: boolean;
    readonly exploring: boolean;
    readonly decisions: readonly Autotune.Decision[];
  }[] = [];
  run({
    ...shape,
    learner,
    observer: {
      everyMs: 1000,
      onSample: (sample, set) => {
        const trying = LanesTuner.isTrying(state.lanes);
        const settings = [{ name: "lanes", concurrency: used, most: 2 }];
        const outcome = autotuner.observe(state, { ...sample, settings });
        state = outcome.state;
        seen.push({ trying, exploring: state.slots.exploring !== null, decisions: outcome.decisions });
        for (const { control } of outcome.decisions) {
          const { concurrency, stage } = control;
          if (stage === "lanes") used = concurrency;
          if (stage === "rollout" || stage === "generate" || stage === "step" || stage === "lanes")
            set(stage, concurrency);
        }
      },
    },
  });
  const changed = (stage: "lanes" | "slots"): typeof seen =>
    seen.filter(({ decisions }) =>
      decisions.some(({ control }) => (control.stage === "lanes") === (stage === "lanes")),
    );
  expect(changed("lanes").length).toBeGreaterThan(1);
  expect(changed("slots").length).toBeGreaterThan(1);
  expect(seen.every(({ decisions }) => decisions.length <= 1)).toBe(true);
  expect(changed("lanes").some(({ exploring }) => exploring)).toBe(false);
  expect(changed("slots").some(({ trying }) => trying)).toBe(false);
});

it("leaves the lanes alone where the run has no setting for them", () => {
  const lanes = { most: 2, lead: 2 };
  const first = autotuner.start({ knobs: [], setting: { mode: "async" }, lanes });
  const last = samples().reduce((state, sample) => autotuner.observe(state, sample).state, first);
  expect(last.lanes).toEqual(first.lanes);
  expect(last.slots).not.toEqual(first.slots);
});
