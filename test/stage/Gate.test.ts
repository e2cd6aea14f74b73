import { describe, it } from "@effect/vitest";
import { Cause, Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import * as Admission from "../../src/stage/Admission.ts";
import * as Gate from "../../src/stage/Gate.ts";

const rules: Admission.Rules = { mode: "async", groups: 2, maxStaleness: 1, windows: 4 };

/** An admitter that notes every ticket until the gate closes. */
const admitAll = (gate: Gate.Gate, tickets: Gate.Ticket[]) =>
  gate.admit.pipe(
    Effect.tap((ticket) => Effect.sync(() => tickets.push(ticket))),
    Effect.forever({ disableYield: true }),
    Effect.catchIf(Cause.isDone, () => Effect.void),
  );

describe("the gate", () => {
  it.effect("suspends the admitter at the bound and wakes it when a window is consumed", () =>
    Effect.gen(function* () {
      const gate = yield* Gate.make(Admission.start(rules));
      const tickets: Gate.Ticket[] = [];
      const admitter = yield* Effect.forkChild(admitAll(gate, tickets));
      yield* TestClock.adjust(1);
      expect(tickets).toEqual([0, 1, 2, 3].map((number) => ({ number, window: Math.floor(number / 2) })));
      gate.observe({ _tag: "Updated", window: 0, groups: [0, 1], version: 1 });
      yield* TestClock.adjust(1);
      expect(tickets).toHaveLength(6);
      gate.observe({ _tag: "EmptySelection", window: 1, consecutive: 1 });
      yield* TestClock.adjust(1);
      expect(tickets).toHaveLength(8);
      yield* Fiber.join(admitter);
    }),
  );

  it.effect("stays shut for events that open nothing", () =>
    Effect.gen(function* () {
      const gate = yield* Gate.make(Admission.start({ ...rules, mode: "sync" }));
      const tickets: Gate.Ticket[] = [];
      yield* Effect.forkChild(admitAll(gate, tickets));
      yield* TestClock.adjust(1);
      gate.observe({ _tag: "Finished", group: 0, tokens: 5, failed: false });
      gate.observe({ _tag: "Updated", window: 0, groups: [0, 1], version: 1 });
      yield* TestClock.adjust(1);
      expect(tickets).toHaveLength(2);
      gate.observe({ _tag: "WeightsAdopted", version: 1 });
      yield* TestClock.adjust(1);
      expect(tickets).toHaveLength(4);
    }),
  );

  it.effect("ends the admitter when the run is stopped while it waits", () =>
    Effect.gen(function* () {
      const gate = yield* Gate.make(Admission.start(rules));
      const admitter = yield* Effect.forkChild(admitAll(gate, []));
      yield* TestClock.adjust(1);
      gate.observe({ _tag: "Stopped", reason: "interrupted" });
      yield* Fiber.join(admitter);
      expect(gate.state().admitted).toBe(4);
    }),
  );
});
