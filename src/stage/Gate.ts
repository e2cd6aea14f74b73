/**
 * The fiber side of admission. In: every event of the run; out: tickets for the admitter, which suspends until the state machine
 * allows the next group. Invariants: no polling, each event that may open the gate wakes the admitter; a ticket is counted as
 * admitted before the next decision is taken.
 */
import { Cause, Effect, Latch } from "effect";
import type { Event } from "../domain/Event.ts";
import * as Admission from "./Admission.ts";

export interface Ticket {
  /** Admission number of the group in its run: `window * groups + place`. */
  readonly number: number;
  readonly window: number;
}

export interface Gate {
  /** Suspends until the next group may start; fails with `Cause.Done` once the gate is closed for good. For one admitter. */
  readonly admit: Effect.Effect<Ticket, Cause.Done>;
  /** To be told of every event but `Admitted`, which the gate counts itself. */
  readonly observe: (event: Event) => void;
  readonly state: () => Admission.Admission;
}

export const make = (initial: Admission.Admission): Effect.Effect<Gate> =>
  Effect.sync(() => {
    let state = initial;
    const changed = Latch.makeUnsafe(false);
    const admit: Effect.Effect<Ticket, Cause.Done> = Effect.suspend(() => {
      const decision = Admission.decide(state);
      switch (decision._tag) {
        case "Admit": {
          const number = state.admitted;
          state = Admission.observe(state, { _tag: "Admitted", group: number, window: decision.window });
          return Effect.succeed({ number, window: decision.window });
        }
        case "Closed":
          return Effect.fail(Cause.Done());
        case "Wait":
          changed.closeUnsafe();
          return Effect.andThen(changed.await, admit);
      }
    });
    return {
      admit,
      observe: (event) => {
        if (event._tag === "Admitted") return;
        state = Admission.observe(state, event);
        changed.openUnsafe();
      },
      state: () => state,
    };
  });
