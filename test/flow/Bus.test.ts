import { describe, it } from "@effect/vitest";
import { Effect, Exit, Fiber, Latch, Queue } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import * as Bus from "../../src/flow/Bus.ts";
import { stepRecord } from "../build/records.ts";

const adopted = (version: number) => ({ _tag: "WeightsAdopted", version }) as const;

describe("the bus", () => {
  it.effect("suspends who records until every keeper has the record", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const full = yield* Queue.bounded<number>(2);
      bus.addStepWriter(({ step }) => Queue.offer(full, step));
      let recorded = 0;
      const writer = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3, 4, 5], (step) =>
          Effect.tap(bus.record(stepRecord(step)), () => Effect.sync(() => recorded++)),
        ),
      );
      yield* TestClock.adjust(1);
      expect(recorded).toBe(2);
      const steps = yield* Effect.forEach(Array(5), () => Queue.take(full));
      yield* Fiber.join(writer);
      expect(steps).toEqual([1, 2, 3, 4, 5]);
    }),
  );

  it.effect("has changed its state, and told its listeners, before the emitter goes on", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const seen: number[] = [];
      bus.onEvent(() => seen.push(bus.state().position.adopted));
      for (let version = 0; version < 5; version++) yield* bus.emit(adopted(version));
      expect(seen).toEqual([0, 1, 2, 3, 4]);
    }),
  );

  it.effect("keeps the order of emission for every listener when one of them makes a fiber emit", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const wake = Latch.makeUnsafe(false);
      const seen: string[] = [];
      bus.onEvent((event) => {
        if (event._tag === "WeightsAdopted") wake.openUnsafe();
      });
      bus.onEvent((event) => void seen.push(event._tag));
      yield* Effect.forkChild(Effect.andThen(wake.await, bus.emit({ _tag: "Admitted", group: 0, window: 0 })));
      yield* TestClock.adjust(1);
      yield* bus.emit(adopted(1));
      expect(seen).toEqual(["WeightsAdopted", "Admitted"]);
    }),
  );

  it.effect("tells every other listener when one throws, and goes on telling", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const seen: number[] = [];
      bus.onEvent(() => {
        throw new Error("a faulty listener");
      });
      bus.onEvent((event) => {
        if (event._tag === "WeightsAdopted") seen.push(event.version);
      });
      const first = yield* Effect.exit(bus.emit(adopted(1)));
      yield* Effect.exit(bus.emit(adopted(2)));
      expect(Exit.isFailure(first)).toBe(true);
      expect(seen).toEqual([1, 2]);
      expect(bus.state().position.adopted).toBe(2);
    }),
  );

  it.effect("calls a listener no more once it has unsubscribed", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const seen: string[] = [];
      const unsubscribe = bus.onEvent(({ _tag }) => void seen.push(_tag));
      yield* bus.emit(adopted(1));
      unsubscribe();
      yield* bus.emit(adopted(2));
      expect(seen).toEqual(["WeightsAdopted"]);
    }),
  );
});
