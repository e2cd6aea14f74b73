import { describe, it } from "@effect/vitest";
import { Cause, Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import type { Event } from "../../../src/domain/Event.ts";
import type * as Admission from "../../../src/flow/admission/Admission.ts";
import * as Gate from "../../../src/flow/admission/Gate.ts";
import * as Bus from "../../../src/flow/Bus.ts";
import { finished } from "../../build/events.ts";

const rules: Admission.Rules = { mode: "async", groups: 2, maxStaleness: 1, windows: 4 };

/** A gate on a bus of its own, and a way to tell it of events. */
const gateOf = Effect.fnUntraced(function* (rules: Admission.Rules) {
  const bus = yield* Bus.make();
  const gate = yield* Effect.provideService(Gate.make(rules), Bus.Bus, bus);
  return { bus, gate, tell: (event: Event) => bus.emit(event) };
});

/** An admitter that notes every ticket until the gate closes. */
const admitAll = (gate: typeof Gate.Gate.Service, tickets: Gate.Ticket[]) =>
  gate.admit.pipe(
    Effect.tap((ticket) => Effect.sync(() => tickets.push(ticket))),
    Effect.forever({ disableYield: true }),
    Effect.catchIf(Cause.isDone, () => Effect.void),
  );

describe("the gate", () => {
  it.effect("suspends the admitter at the bound and wakes it when a window is consumed and its version adopted", () =>
    Effect.gen(function* () {
      const { gate, tell } = yield* gateOf(rules);
      const tickets: Gate.Ticket[] = [];
      const admitter = yield* Effect.forkChild(admitAll(gate, tickets));
      yield* TestClock.adjust(1);
      expect(tickets).toEqual(
        [0, 1, 2, 3].map((group) => ({ group, place: group % 2, of: 2, window: Math.floor(group / 2), version: 0 })),
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
      yield* Fiber.join(admitter);
    }),
  );

  it.effect("stays shut for events that open nothing", () =>
    Effect.gen(function* () {
      const { gate, tell } = yield* gateOf({ ...rules, mode: "sync" });
      const tickets: Gate.Ticket[] = [];
      yield* Effect.forkChild(admitAll(gate, tickets));
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

  it.effect("ends the admitter when the run is stopped while it waits", () =>
    Effect.gen(function* () {
      const { bus, gate, tell } = yield* gateOf(rules);
      const admitter = yield* Effect.forkChild(admitAll(gate, []));
      yield* TestClock.adjust(1);
      yield* tell({ _tag: "Stopped", reason: "stopped" });
      yield* Fiber.join(admitter);
      expect(bus.state().position.admitted).toBe(4);
    }),
  );
});
