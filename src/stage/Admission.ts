/**
 * When the next group may start, as a pure state machine: events in, a decision out, no fibers. Windows are counted by consumption,
 * not by versions made, so an empty selection, a failed group and a skipped update reopen admission like an update does.
 *
 *   lockstep, sync   window w opens once windows 0..w-1 are consumed and the last version they made is adopted
 *   async            window w opens once w <= consumed + max staleness
 *
 * Invariants: in async a group consumed in admission order was admitted at most `maxStaleness` consumed windows earlier; at most
 * (maxStaleness + 1) windows of groups are admitted and not consumed, whatever the order. Under `completion` order that backlog
 * is the only bound: a straggler may be overtaken, and its own staleness is then not bounded.
 */
import type { Version } from "../domain/Episode.ts";
import type { Event } from "../domain/Event.ts";

export interface Rules {
  readonly mode: "lockstep" | "sync" | "async";
  /** Groups per window. */
  readonly groups: number;
  /** async: windows a group may be admitted ahead of consumption. */
  readonly maxStaleness: number;
  /** Windows of the whole run. */
  readonly windows: number;
}

export interface Admission {
  readonly rules: Rules;
  /** Groups admitted, those of windows consumed before a resume included. */
  readonly admitted: number;
  /** Windows consumed. */
  readonly consumed: number;
  /** Newest version made by an update, and newest that all generators sample with. */
  readonly made: Version;
  readonly adopted: Version;
  readonly stopped: boolean;
}

export type Decision =
  /** The next group may start, in this window. */
  | { readonly _tag: "Admit"; readonly window: number }
  /** Not before `consumed` windows are consumed and `version` is adopted. */
  | { readonly _tag: "Wait"; readonly window: number; readonly consumed: number; readonly version: Version }
  | { readonly _tag: "Closed"; readonly reason: "complete" | "stopped" };

/** A run that starts (or resumes) with `consumed` windows behind it and `version` in the generators. */
export const start = (rules: Rules, { consumed = 0, version = 0 } = {}): Admission => ({
  rules,
  admitted: consumed * rules.groups,
  consumed,
  made: version,
  adopted: version,
  stopped: false,
});

/** Windows a group may be admitted ahead of consumption. */
export const lead = ({ mode, maxStaleness }: Rules): number => (mode === "async" ? maxStaleness : 0);

export const decide = ({ rules, admitted, consumed, made, adopted, stopped }: Admission): Decision => {
  if (stopped) return { _tag: "Closed", reason: "stopped" };
  const window = Math.floor(admitted / rules.groups);
  if (window >= rules.windows) return { _tag: "Closed", reason: "complete" };
  const needed = Math.max(0, window - lead(rules));
  // With no lead a rollout is on-policy only under the weights of the last update.
  const version = lead(rules) === 0 ? made : 0;
  return consumed >= needed && adopted >= version
    ? { _tag: "Admit", window }
    : { _tag: "Wait", window, consumed: needed, version };
};

/** Whether no window after the first `consumed` ones will be whole. */
export const isLast = ({ rules, admitted, stopped }: Admission, consumed: number): boolean =>
  consumed >= rules.windows || (stopped && admitted < (consumed + 1) * rules.groups);

export const observe = (state: Admission, event: Event): Admission => {
  switch (event._tag) {
    case "Admitted":
      return { ...state, admitted: state.admitted + 1 };
    case "Updated":
      return consume({ ...state, made: Math.max(state.made, event.version) }, event.window);
    case "EmptySelection":
    case "UpdateSkipped":
      return consume(state, event.window);
    case "WeightsAdopted":
      return { ...state, adopted: Math.max(state.adopted, event.version) };
    case "Stopped":
      return { ...state, stopped: true };
    default:
      return state;
  }
};

const consume = (state: Admission, window: number): Admission => ({
  ...state,
  consumed: Math.max(state.consumed, window + 1),
});
