/**
 * The fiber side of admission: the admitter suspends until the rules allow the next group under the run's position. Invariants: no polling,
 * each event wakes an admitter that waits; a group counts as admitted before the next decision is taken, because its event has changed the
 * state by then.
 */
import { Cause, Context, Effect, Latch, Layer } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { Asked } from "../../domain/Position.ts";
import * as SeedSchedule from "../../domain/SeedSchedule.ts";
import { Bus } from "../Bus.ts";
import * as Admission from "./Admission.ts";

/** A group that was admitted. */
export interface Ticket {
  /** Its number: which seed it plays. */
  readonly group: number;
  /** Its place, from 0, among the `of` groups that its window has of its own, or that it asks for at once. */
  readonly place: number;
  readonly of: number;
  readonly window: number;
  /** Its window asked for it, and waits. */
  readonly urgent?: true;
  /** Newest weights version at admission. */
  readonly version: Version;
}

export class Gate extends Context.Service<
  Gate,
  {
    readonly rules: Admission.Rules;
    /** Suspends until the next group may start and admits it; fails with `Cause.Done` once admission is closed for good. For one admitter. */
    readonly admit: Effect.Effect<Ticket, Cause.Done>;
    readonly decision: () => Admission.Decision;
    /** Whether no window after the first `consumed` ones will be whole. */
    readonly isLast: (consumed: number) => boolean;
  }
>()("millrace/stage/Gate") {}

export const make = (rules: Admission.Rules): Effect.Effect<typeof Gate.Service, never, Bus> =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const changed = Latch.makeUnsafe(false);
    bus.onEvent(({ _tag }) => {
      if (_tag !== "Admitted") changed.openUnsafe();
    });
    const position = () => bus.state().position;
    const decision = () => Admission.decide(rules, position(), bus.state().paused);
    const admitInto = (window: number, asked?: Asked): Effect.Effect<Ticket> => {
      const { position, seeds } = bus.state();
      const group = SeedSchedule.head(seeds);
      const { version } = position;
      const [place, of] =
        asked === undefined ? [position.admitted % rules.groups, rules.groups] : [asked.admitted, asked.groups];
      const own: Ticket = { group, place, of, window, version };
      const ticket: Ticket = asked === undefined ? own : { ...own, urgent: true };
      const refill = asked === undefined ? {} : { refill: asked.round };
      return Effect.as(bus.emit({ _tag: "Admitted", group, window, ...refill }), ticket);
    };
    const admit: Effect.Effect<Ticket, Cause.Done> = Effect.suspend(() => {
      const decided = decision();
      switch (decided._tag) {
        case "Admit":
          return admitInto(decided.window, decided.asked);
        case "Closed":
          return Effect.fail(Cause.Done());
        case "Wait":
        case "Verdict":
        case "Paused":
          changed.closeUnsafe();
          return Effect.andThen(changed.await, admit);
      }
    });
    return Gate.of({ rules, admit, decision, isLast: (consumed) => Admission.isLast(rules, position(), consumed) });
  });

export const layer = (rules: Admission.Rules): Layer.Layer<Gate, never, Bus> => Layer.effect(Gate, make(rules));
