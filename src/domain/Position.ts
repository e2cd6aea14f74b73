/**
 * The position of a run, as admission sees it. Windows are counted by consumption, not by versions made: an empty selection and a skipped
 * update consume their window as an update does.
 */
import { Effect, Schema } from "effect";
import { Count } from "./Count.ts";
import type { Event } from "./Event.ts";
import * as FixedLag from "./FixedLag.ts";

/** Groups that a window asks for. */
export const OwedRefill = Schema.Struct({
  window: Count,
  /** The number of this refill of the window, from 1. */
  round: Count,
  groups: Count,
  /** The number of its groups that are admitted, fewer than `groups`. */
  admitted: Count,
});
export type OwedRefill = typeof OwedRefill.Type;

export const Position = Schema.Struct({
  /** Groups admitted as windows' own, those of consumed windows included; what refills ask for is not counted. */
  admitted: Count,
  /** Windows consumed. */
  consumed: Count,
  /** Windows with a verdict, which ask for no more. */
  judged: Count.pipe(Schema.withDecodingDefaultKey(Effect.succeed(0))),
  /** The refill that admission owes; null where there is none. At most one, that of the oldest window without a verdict. */
  asked: Schema.NullOr(OwedRefill).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  /** Newest weights version made by an update. */
  version: Count,
  /** Newest version that all generators sample with. */
  adopted: Count,
  /** Admission is closed for good. */
  stopped: Schema.Boolean,
  /** Versions of the open windows under a fixed lag; null where groups follow the newest version. */
  fixedLag: Schema.NullOr(FixedLag.FixedLag).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
});

/** The position of a run, as admission sees it. */
export type Position = typeof Position.Type;

/** A run that starts (or resumes) at a step boundary: `groups` in each of the `consumed` windows, `version` in the generators. */
export const start = ({
  consumed = 0,
  fixedLag = null,
  groups = 0,
  version = 0,
}: {
  readonly consumed?: number;
  readonly fixedLag?: FixedLag.FixedLag | null;
  readonly groups?: number;
  readonly version?: number;
} = {}): Position => ({
  admitted: consumed * groups,
  consumed,
  judged: consumed,
  asked: null,
  version,
  adopted: version,
  stopped: false,
  fixedLag,
});

const consume = (position: Position, window: number): Position => ({
  ...position,
  consumed: Math.max(position.consumed, window + 1),
  fixedLag: position.fixedLag === null ? null : FixedLag.consume(position.fixedLag, position.version),
});

/** Groups of a refill that are not admitted yet. In completion order other groups may fill their places, and a window then asks again. */
const unadmitted = (refill: OwedRefill | null): number => (refill === null ? 0 : refill.groups - refill.admitted);

/** The refill that is still owed after one more of its groups is admitted; null if it is complete. */
const afterAdmission = (refill: OwedRefill): OwedRefill | null =>
  refill.admitted + 1 < refill.groups ? { ...refill, admitted: refill.admitted + 1 } : null;

export const observe = (position: Position, event: Event): Position => {
  switch (event._tag) {
    case "Admitted":
      return event.refill === undefined || position.asked === null
        ? { ...position, admitted: position.admitted + 1 }
        : { ...position, asked: afterAdmission(position.asked) };
    case "Refill":
      return {
        ...position,
        asked: {
          window: event.window,
          round: event.round,
          groups: event.groups + unadmitted(position.asked),
          admitted: 0,
        },
      };
    case "Verdict":
      return { ...position, judged: Math.max(position.judged, event.window + 1) };
    case "Updated":
      return consume({ ...position, version: Math.max(position.version, event.version) }, event.window);
    case "EmptySelection":
    case "UpdateSkipped":
      return consume(position, event.window);
    case "WeightsAdopted":
      return { ...position, adopted: Math.max(position.adopted, event.version) };
    case "Stopped":
      return { ...position, stopped: true };
    default:
      return position;
  }
};
