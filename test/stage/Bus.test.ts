import { describe, it } from "@effect/vitest";
import { Cause, Effect, Fiber, Latch } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import type { StepRecord } from "../../src/domain/Event.ts";
import * as Bus from "../../src/stage/Bus.ts";

const record = (step: number): StepRecord => ({ step, time: 0, metrics: {} });
const sample = (elapsedMs: number): Bus.Sample => ({
  elapsedMs,
  stages: [],
  tokens: { generated: 0, trained: 0 },
  groupsInFlight: 0,
});

const drain = <A>(pull: Bus.Pull<A>) =>
  Effect.gen(function* () {
    const seen: A[] = [];
    yield* pull.pipe(
      Effect.tap((message) => Effect.sync(() => seen.push(message))),
      Effect.forever,
      Effect.catchIf(Cause.isDone, () => Effect.void),
    );
    return seen;
  });

describe("the bus", () => {
  it.effect("loses no step record: a full path suspends who records", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make({ records: 2 });
      let recorded = 0;
      const writer = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3, 4, 5], (step) =>
          Effect.tap(bus.record(record(step)), () => Effect.sync(() => recorded++)),
        ),
      );
      yield* TestClock.adjust(1);
      expect(recorded).toBe(2);
      const reader = yield* Effect.forkChild(drain(bus.records));
      yield* Fiber.join(writer);
      yield* bus.close;
      expect((yield* Fiber.join(reader)).map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
    }),
  );

  it.effect("never suspends who samples: a slow reader loses the oldest", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make({ sliding: 2 });
      const pull = yield* bus.samples;
      for (let i = 0; i < 10; i++) yield* bus.sampled(sample(i));
      yield* bus.close;
      expect((yield* drain(pull)).map(({ elapsedMs }) => elapsedMs)).toEqual([8, 9]);
    }),
  );

  it.effect("tells observers every event before the emitter goes on", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make({ sliding: 1 });
      const seen: number[] = [];
      bus.observe((event) => {
        if (event._tag === "WeightsAdopted") seen.push(event.version);
      });
      for (let version = 0; version < 5; version++) yield* bus.emit({ _tag: "WeightsAdopted", version });
      expect(seen).toEqual([0, 1, 2, 3, 4]);
    }),
  );

  it.effect("keeps the order of emission for every observer when one of them makes a fiber emit", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const wake = Latch.makeUnsafe(false);
      const seen: string[] = [];
      bus.observe((event) => {
        if (event._tag === "WeightsAdopted") wake.openUnsafe();
      });
      bus.observe((event) => void seen.push(event._tag));
      yield* Effect.forkChild(Effect.andThen(wake.await, bus.emit({ _tag: "Admitted", group: 0, window: 0 })));
      yield* TestClock.adjust(1);
      yield* bus.emit({ _tag: "WeightsAdopted", version: 1 });
      expect(seen).toEqual(["WeightsAdopted", "Admitted"]);
    }),
  );
});
