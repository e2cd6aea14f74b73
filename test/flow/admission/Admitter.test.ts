import { describe, it } from "@effect/vitest";
import { Cause, Effect, Fiber, Scheduler } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import type { Event } from "../../../src/domain/Event.ts";
import type * as Admission from "../../../src/flow/admission/Admission.ts";
import * as Admitter from "../../../src/flow/admission/Admitter.ts";
import * as Bus from "../../../src/flow/Bus.ts";
import { finished } from "../../build/events.ts";

const rules: Admission.Rules = { mode: "async", groups: 2, maxStaleness: 1, windows: 4 };

/** An admitter on its own bus, with a function that emits events to it. */
const admitterOf = Effect.fnUntraced(function* (rules: Admission.Rules) {
  const bus = yield* Bus.make();
  const admitter = yield* Effect.provideService(Admitter.make(rules), Bus.Bus, bus);
  return { bus, admitter, tell: (event: Event) => bus.emit(event) };
});

/** Admits groups and notes each of them until admission closes. */
const admitAll = (admitter: typeof Admitter.Admitter.Service, tickets: Admitter.AdmittedGroup[]) =>
  admitter.admit.pipe(
    Effect.tap((ticket) => Effect.sync(() => tickets.push(ticket))),
    Effect.forever({ disableYield: true }),
    Effect.catchIf(Cause.isDone, () => Effect.void),
  );

describe("the admitter", () => {
  it.effect("admits no group after a pause, also where fibers yield between operations", () =>
    Effect.gen(function* () {
      const { admitter, bus, tell } = yield* admitterOf({ ...rules, windows: 50, maxStaleness: 50 });
      const admittedPaused: number[] = [];
      bus.onEvent((event) => {
        if (event._tag === "Admitted" && bus.state().paused) admittedPaused.push(event.group);
      });
      const tickets: Admitter.AdmittedGroup[] = [];
      const fiber = yield* Effect.forkChild(admitAll(admitter, tickets));
      for (let i = 0; i < 200; i++) {
        const _tag = i % 2 === 0 ? "PauseAdmission" : "ResumeAdmission";
        yield* tell({ _tag: "Controlled", control: { _tag }, by: "code" });
        for (let turns = 0; turns < i % 5; turns++) yield* Effect.yieldNow;
      }
      yield* Fiber.join(fiber);
      expect(tickets).toHaveLength(100);
      expect(admittedPaused).toEqual([]);
    }).pipe(Effect.provideService(Scheduler.MaxOpsBeforeYield, 3)),
  );

  it.effect("suspends at the bound, and goes on when a window is consumed and its version adopted", () =>
    Effect.gen(function* () {
      const { admitter, tell } = yield* admitterOf(rules);
      const tickets: Admitter.AdmittedGroup[] = [];
      const fiber = yield* Effect.forkChild(admitAll(admitter, tickets));
      yield* TestClock.adjust(1);
      expect(tickets).toEqual(
        [0, 1, 2, 3].map((group) => ({ group, place: group % 2, total: 2, window: Math.floor(group / 2), version: 0 })),
      );
      yield* tell({ _tag: "Updated", window: 0, groups: [0, 1], version: 1, tokens: 0 });
      yield* TestClock.adjust(1);
      expect(tickets).toHaveLength(4);
      yield* tell({ _tag: "WeightsAdopted", version: 1 });
      yield* TestClock.adjust(1);
      expect(tickets).toHaveLength(6);
      yield* tell({ _tag: "EmptySelection", window: 1, consecutive: 1 });
      yield* TestClock.adjust(1);
      expect(tickets).toHaveLength(8);
      yield* Fiber.join(fiber);
    }),
  );

  it.effect("stays shut for events that open nothing", () =>
    Effect.gen(function* () {
      const { admitter, tell } = yield* admitterOf({ ...rules, mode: "sync" });
      const tickets: Admitter.AdmittedGroup[] = [];
      yield* Effect.forkChild(admitAll(admitter, tickets));
      yield* TestClock.adjust(1);
      yield* tell(finished(0));
      yield* tell({ _tag: "Updated", window: 0, groups: [0, 1], version: 1, tokens: 0 });
      yield* TestClock.adjust(1);
      expect(tickets).toHaveLength(2);
      yield* tell({ _tag: "WeightsAdopted", version: 1 });
      yield* TestClock.adjust(1);
      expect(tickets).toHaveLength(4);
    }),
  );

  it.effect("ends when the run is stopped while it waits", () =>
    Effect.gen(function* () {
      const { bus, admitter, tell } = yield* admitterOf(rules);
      const fiber = yield* Effect.forkChild(admitAll(admitter, []));
      yield* TestClock.adjust(1);
      yield* tell({ _tag: "Stopped", reason: "stopped" });
      yield* Fiber.join(fiber);
      expect(bus.state().position.admitted).toBe(4);
    }),
  );
});
