import { describe, it } from "@effect/vitest";
import { Effect, Exit, Fiber, Logger } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import * as Bus from "../../../src/flow/Bus.ts";
import { type Sink, SinkError } from "../../../src/observe/sinks/Sink.ts";
import { sinkOf } from "../../../src/observe/sinks/sinkOf.ts";
import * as Telemetry from "../../../src/observe/sinks/Telemetry.ts";
import { stepRecord } from "../../build/records.ts";
import { notebook, run, sample } from "./fixtures.ts";

const broken = new SinkError({ sink: "disk", message: "no space left" });
const attach = (bus: typeof Bus.Bus.Service, sinks: readonly Sink[]) => Telemetry.attach({ bus, sinks, run });
const quietly = Effect.provide(Logger.layer([]));

/** Lets virtual time pass until the fiber ends. */
const ends = (fiber: Fiber.Fiber<void, unknown>) =>
  Effect.gen(function* () {
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust(100);
    yield* Fiber.join(fiber);
  });

describe("telemetry", () => {
  it.live("brings every record, in order, to every sink before it is closed", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const sinks = [notebook(), notebook()];
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* attach(
            bus,
            sinks.map(({ sink }) => sink),
          );
          for (let step = 1; step <= 20; step++) yield* bus.record(stepRecord(step));
        }),
      );
      const expected = ["open quickstart", ...Array.from({ length: 20 }, (_, i) => `step ${i + 1}`), "close Completed"];
      expect(sinks[0]!.messages).toEqual(expected);
      expect(sinks[1]!.messages).toEqual(expected);
    }),
  );

  it.live("brings samples and events, and tells the last ones before closing", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const { sink, messages } = notebook();
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* attach(bus, [sink]);
          yield* bus.publishSample(sample(500));
          yield* bus.emit({ _tag: "Stopped", reason: "stopped" });
        }),
      );
      expect(messages.slice(1, -1).sort()).toEqual(["event Stopped", "gauges 500"]);
      expect(messages.at(-1)).toBe("close Stopped");
    }),
  );

  it.live("switches off a sink that breaks and is not essential, and goes on", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const failing = notebook({ step: () => Effect.fail(broken) });
      const good = notebook();
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* attach(bus, [failing.sink, good.sink]);
          yield* bus.record(stepRecord(1));
          yield* bus.record(stepRecord(2));
        }),
      );
      expect(failing.messages).toEqual(["open quickstart"]);
      expect(good.messages).toEqual(["open quickstart", "step 1", "step 2", "close Completed"]);
    }).pipe(quietly),
  );

  it.effect.each([
    [
      "throws",
      () => ({
        step: () => {
          throw new Error("a faulty sink");
        },
      }),
    ],
    ["dies", () => ({ step: () => Effect.die(new Error("a faulty sink")) })],
    ["dies at its end", () => ({ close: () => Effect.die(new Error("a faulty sink")) })],
  ] as const)("ends the run as it ended when a sink %s", ([, faults]) =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const faulty = notebook(faults());
      const good = notebook();
      const running = yield* Effect.forkChild(
        Effect.scoped(Effect.andThen(attach(bus, [faulty.sink, good.sink]), bus.record(stepRecord(1)))),
        { startImmediately: true },
      );
      yield* ends(running);
      expect(good.messages).toEqual(["open quickstart", "step 1", "close Completed"]);
    }).pipe(quietly),
  );

  it.live("fails the run with a sink that is essential, and closes the others as failed", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const disk = notebook({ essential: true, step: () => Effect.fail(broken) });
      const good = notebook();
      const exit = yield* Effect.exit(
        Effect.scoped(
          Effect.gen(function* () {
            const failing = yield* attach(bus, [disk.sink, good.sink]);
            yield* Effect.raceFirst(bus.record(stepRecord(1)), failing);
          }),
        ),
      );
      expect(exit).toEqual(Exit.fail(broken));
      expect(good.messages.at(-1)).toBe("close Failed");
    }),
  );

  it.live("does not start a run whose essential sink cannot be opened", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const disk = notebook({ essential: true, open: () => Effect.fail(broken) });
      const exit = yield* Effect.exit(Effect.scoped(attach(bus, [disk.sink])));
      expect(exit).toEqual(Exit.fail(broken));
    }),
  );

  it.effect("lets neither the run nor another sink notice one that hangs from the start", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const hung = notebook({ open: () => Effect.never });
      const good = notebook();
      const running = yield* Effect.forkChild(
        Effect.scoped(
          Effect.gen(function* () {
            yield* attach(bus, [hung.sink, good.sink]);
            for (let step = 1; step <= 3000; step++) {
              yield* bus.record(stepRecord(step));
              yield* Effect.yieldNow;
            }
          }),
        ),
        { startImmediately: true },
      );
      yield* ends(running);
      expect(hung.messages).toEqual([]);
      expect(good.messages).toHaveLength(3002);
      expect(good.messages.at(-1)).toBe("close Completed");
    }).pipe(quietly),
  );

  it.effect("keeps only the newest messages for a sink that falls behind", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const slow = notebook({ feeding: { capacity: 4 } });
      const first = Effect.sleep(1000);
      let isHeld = false;
      const sink: Sink = {
        ...slow.sink,
        step: (step) => Effect.andThen(isHeld ? Effect.void : first, slow.sink.step(step)),
      };
      const running = yield* Effect.forkChild(
        Effect.scoped(
          Effect.gen(function* () {
            yield* attach(bus, [sink]);
            yield* bus.record(stepRecord(1));
            yield* Effect.yieldNow;
            for (let step = 2; step <= 20; step++) yield* bus.record(stepRecord(step));
            isHeld = true;
          }),
        ),
        { startImmediately: true },
      );
      yield* ends(running);
      const steps = slow.messages.filter((line) => line.startsWith("step"));
      expect(steps.slice(-4)).toEqual(["step 17", "step 18", "step 19", "step 20"]);
      expect(steps.length).toBeLessThanOrEqual(5);
    }).pipe(quietly),
  );

  it.effect("tries a call again that failed, on the sink's schedule", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      let failures = 3;
      const flaky = notebook();
      const sink: Sink = {
        ...flaky.sink,
        step: (step) => Effect.suspend(() => (failures-- > 0 ? Effect.fail(broken) : flaky.sink.step(step))),
      };
      const running = yield* Effect.forkChild(
        Effect.scoped(Effect.andThen(attach(bus, [sink]), bus.record(stepRecord(1)))),
        { startImmediately: true },
      );
      yield* TestClock.adjust(699);
      expect(flaky.messages).toEqual(["open quickstart"]);
      yield* TestClock.adjust(1);
      yield* Fiber.join(running);
      expect(flaky.messages).toEqual(["open quickstart", "step 1", "close Completed"]);
    }),
  );

  it.effect("holds the run until an essential sink has written the record", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const disk = notebook({
        essential: true,
        step: ({ step }) => (step < 3 ? Effect.sleep(10) : Effect.never),
      });
      let recorded = 0;
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* attach(bus, [disk.sink]);
          yield* Effect.forkScoped(
            Effect.forEach([1, 2, 3, 4, 5], (step) =>
              Effect.tap(bus.record(stepRecord(step)), () => Effect.sync(() => recorded++)),
            ),
          );
          yield* TestClock.adjust(19);
          expect(recorded).toBe(1);
          yield* TestClock.adjust(1000);
          expect(recorded).toBe(2);
          yield* Effect.forkDetach(TestClock.adjust(10_000));
        }),
      );
      expect(recorded).toBe(2);
    }).pipe(quietly),
  );
});

describe("a sink of plain functions", () => {
  it.live("is called with what it has functions for, and what one throws is its failure", () =>
    Effect.gen(function* () {
      const messages: string[] = [];
      const sink = sinkOf({
        name: "plain",
        open: ({ name }) => void messages.push(name),
        step: async ({ step }) => {
          if (step === 2) throw new Error("no more room");
          messages.push(`step ${step}`);
        },
      });
      yield* sink.open(run);
      yield* sink.step(stepRecord(1));
      expect(sink.gauges).toBeUndefined();
      const failure = yield* Effect.flip(sink.step(stepRecord(2)));
      expect(messages).toEqual(["quickstart", "step 1"]);
      expect(failure).toEqual(new SinkError({ sink: "plain", message: "no more room" }));
    }),
  );
});
