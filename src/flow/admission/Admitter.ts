/**
 * The fiber side of admission: the admitter suspends until the rules allow the next group under the run's position. Invariants: no polling,
 * each event wakes an admitter that waits; a group counts as admitted before the next decision is taken, because its event has changed the
 * state by then.
 */
import { Cause, Context, Effect, Latch, Layer } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { OwedRefill } from "../../domain/Position.ts";
import type { RunState } from "../../domain/RunState.ts";
import * as SeedSchedule from "../../domain/SeedSchedule.ts";
import * as TaskSampler from "../../domain/TaskSampler.ts";
import { atOnce, Bus } from "../Bus.ts";
import * as Admission from "./Admission.ts";

/** A group that was admitted. */
export interface AdmittedGroup {
  /** Number of the group, which determines its seed. */
  readonly group: number;
  /** Position from 0 among `total` groups: those of its window, or those of one refill. */
  readonly place: number;
  readonly total: number;
  /** Index of the window that it is played for. */
  readonly window: number;
  /** True for a refill: the filter left too few groups, and the window waits for this one. */
  readonly urgent?: true;
  /** Newest weights version at admission; under a fixed lag the version that plays the group. */
  readonly version: Version;
  /** The version that plays the group whole, under a fixed lag; absent where it follows the newest. */
  readonly pin?: Version;
  /** The level that was drawn for the group, as the tag under which it is played; absent for a preset without levels. */
  readonly level?: string;
}

/** Draws the level of a group; undefined where its preset has none. */
export type DrawLevel = (group: number, posterior: TaskSampler.Posterior) => TaskSampler.WeighedLevel | undefined;

export class Admitter extends Context.Service<
  Admitter,
  {
    /** The rules that bound how far admission runs ahead of training. */
    readonly rules: Admission.Rules;
    /** Suspends until the next group may start and admits it; fails with `Cause.Done` once admission is closed for good. One fiber calls it. */
    readonly admit: Effect.Effect<AdmittedGroup, Cause.Done>;
    /** Returns what the rules say of the next group now. */
    readonly decision: () => Admission.Decision;
    /** True if window number `consumed` (from 1) is the last one that will have all its groups. */
    readonly isLast: (consumed: number) => boolean;
  }
>()("millrace/flow/Admitter") {}

/** The number of the next group, which determines its seed: of a refill by its place, else the next one of the run. */
const nextGroup = (
  { refillNumbers = null }: Admission.Rules,
  seeds: SeedSchedule.SeedSchedule,
  refill: OwedRefill | undefined,
): number =>
  refill === undefined || refillNumbers === null
    ? SeedSchedule.nextGroup(seeds)
    : SeedSchedule.refillGroup(seeds, refillNumbers, { ...refill, place: refill.admitted });

/** The level of a group of `window`, as its event carries it; nothing where the run has no task sampler. */
const levelOf = (
  drawLevel: DrawLevel | undefined,
  { position, taskSampler }: RunState,
  group: number,
  window: number,
): { readonly level?: string; readonly probability?: number } => {
  if (drawLevel === undefined || taskSampler === null) return {};
  const drawn = drawLevel(group, TaskSampler.posteriorFor(taskSampler, position.consumed, window));
  return drawn === undefined ? {} : { level: drawn.tag, probability: drawn.probability };
};

/** `drawLevel` draws the levels of presets that have some; without it none is drawn. */
export const make = (
  rules: Admission.Rules,
  drawLevel?: DrawLevel,
): Effect.Effect<typeof Admitter.Service, never, Bus> =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const changed = Latch.makeUnsafe(false);
    bus.onEvent(({ _tag }) => {
      if (_tag !== "Admitted") changed.openUnsafe();
    });
    const position = () => bus.state().position;
    const decision = () => Admission.decide(rules, position(), bus.state().paused);
    const admitNext = (next: Extract<Admission.Decision, { readonly _tag: "Admit" }>): Effect.Effect<AdmittedGroup> => {
      const state = bus.state();
      const { position, seeds } = state;
      const { asked: refill, pin, window } = next;
      const group = nextGroup(rules, seeds, refill);
      const pinned = pin === undefined ? {} : { pin };
      const drawn = levelOf(drawLevel, state, group, window);
      const levelled = drawn.level === undefined ? {} : { level: drawn.level };
      const common = { group, window, version: pin ?? position.version, ...pinned, ...levelled };
      const admitted: AdmittedGroup =
        refill === undefined
          ? { ...common, place: position.admitted % rules.groups, total: rules.groups }
          : { ...common, place: refill.admitted, total: refill.groups, urgent: true };
      const round = refill === undefined ? {} : { refill: refill.round };
      return Effect.as(bus.emit({ _tag: "Admitted", group, window, ...round, ...pinned, ...drawn }), admitted);
    };
    const admit: Effect.Effect<AdmittedGroup, Cause.Done> = Effect.suspend(() => {
      const next = decision();
      switch (next._tag) {
        case "Admit":
          return admitNext(next);
        case "Closed":
          return Effect.fail(Cause.Done());
        case "Wait":
        case "Verdict":
        case "Paused":
          changed.closeUnsafe();
          return Effect.andThen(changed.await, admit);
      }
    });
    // No other fiber runs between a decision and its event, so that no group is admitted after a pause or a stop.
    const admitAtOnce = atOnce(admit);
    return Admitter.of({
      rules,
      admit: admitAtOnce,
      decision,
      isLast: (consumed) => Admission.isLast(rules, position(), consumed),
    });
  });

export const layer = (rules: Admission.Rules, drawLevel?: DrawLevel): Layer.Layer<Admitter, never, Bus> =>
  Layer.effect(Admitter, make(rules, drawLevel));
