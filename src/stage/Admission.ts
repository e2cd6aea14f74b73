/**
 * When the next group may start, as a pure function of the run's position. Windows are counted by consumption, not by versions made, so
 * an empty selection, a failed group and a skipped update reopen admission like an update does.
 *
 *   lockstep, sync   window w opens once windows 0..w-1 are consumed and the last version they made is adopted
 *   async            window w opens once w <= consumed + max staleness
 *
 * Invariants: in async a group consumed in admission order was admitted at most `maxStaleness` consumed windows earlier; at most
 * (maxStaleness + 1) windows of groups are admitted and not consumed, whatever the order. Under `completion` order that backlog
 * is the only bound: a straggler may be overtaken, and its own staleness is then not bounded.
 */
import type { Version } from "../domain/Episode.ts";
import type { Position } from "../domain/Position.ts";

export interface Rules {
  readonly mode: "lockstep" | "sync" | "async";
  /** Groups per window. */
  readonly groups: number;
  /** async: windows a group may be admitted ahead of consumption. */
  readonly maxStaleness: number;
  /** Windows of the whole run. */
  readonly windows: number;
}

export type Decision =
  /** The next group may start, in this window. */
  | { readonly _tag: "Admit"; readonly window: number }
  /** Not before `consumed` windows are consumed and `version` is adopted. */
  | { readonly _tag: "Wait"; readonly window: number; readonly consumed: number; readonly version: Version }
  /** Not before someone lets admission go on. */
  | { readonly _tag: "Paused" }
  | { readonly _tag: "Closed"; readonly reason: "complete" | "stopped" };

/** Windows a group may be admitted ahead of consumption. */
export const lead = ({ mode, maxStaleness }: Rules): number => (mode === "async" ? maxStaleness : 0);

export const decide = (
  rules: Rules,
  { admitted, adopted, consumed, stopped, version }: Position,
  paused = false,
): Decision => {
  if (stopped) return { _tag: "Closed", reason: "stopped" };
  const window = Math.floor(admitted / rules.groups);
  if (window >= rules.windows) return { _tag: "Closed", reason: "complete" };
  if (paused) return { _tag: "Paused" };
  const needed = Math.max(0, window - lead(rules));
  // With no lead a rollout is on-policy only under the weights of the last update.
  const awaited = lead(rules) === 0 ? version : 0;
  return consumed >= needed && adopted >= awaited
    ? { _tag: "Admit", window }
    : { _tag: "Wait", window, consumed: needed, version: awaited };
};

/** Whether no window after the first `consumed` ones will be whole. */
export const isLast = (rules: Rules, { admitted, stopped }: Position, consumed: number): boolean =>
  consumed >= rules.windows || (stopped && admitted < (consumed + 1) * rules.groups);
