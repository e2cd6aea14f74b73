/**
 * How far a run has come, as admission sees it. Windows are counted by consumption, not by versions made: an empty selection and a
 * skipped update consume their window like an update does.
 */
import { Schema } from "effect";
import { Count } from "./Count.ts";
import type { Event } from "./Event.ts";

export const Position = Schema.Struct({
  /** Groups admitted, those of consumed windows included. */
  admitted: Count,
  /** Windows consumed. */
  consumed: Count,
  /** Newest weights version made by an update. */
  version: Count,
  /** Newest version that all generators sample with. */
  adopted: Count,
  /** Admission is closed for good. */
  stopped: Schema.Boolean,
});
export type Position = typeof Position.Type;

/** A run that starts (or resumes) at a step boundary: `groups` in each of the `consumed` windows, `version` in the generators. */
export const start = ({ consumed = 0, groups = 0, version = 0 } = {}): Position => ({
  admitted: consumed * groups,
  consumed,
  version,
  adopted: version,
  stopped: false,
});

const consume = (position: Position, window: number): Position => ({
  ...position,
  consumed: Math.max(position.consumed, window + 1),
});

export const observe = (position: Position, event: Event): Position => {
  switch (event._tag) {
    case "Admitted":
      return { ...position, admitted: position.admitted + 1 };
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
