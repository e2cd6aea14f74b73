/**
 * Decides when the next group may start, as a pure function of the run's position. Windows are counted by consumption, so an empty
 * selection, a failed group and a skipped update reopen admission as an update does.
 *
 *   lockstep, sync   window w opens once windows 0..w-1 are consumed and the last version they made is adopted.
 *   async            window w opens once w <= consumed + max staleness, and the generators sample with a version young enough for it.
 *   fixed lag        as async, and window w opens once the generators have the version that stood when w - max staleness windows were consumed.
 *
 * A window may be trained from a version that is newer than today's by one for each window still to be consumed before it. A sampling
 * version is young enough while that difference stays within the bound.
 *
 * A refill of the oldest window without a verdict goes first. It opens no window and waits for the version alone. A stop closes admission
 * to new windows; whole windows still get their refills, so that they train on the same groups as without the stop.
 *
 * Invariants: at most (maxStaleness + 1) windows of groups, with their refills, are admitted and not consumed. In async, a group consumed
 * in admission order was admitted at most `maxStaleness` consumed windows earlier, and its tokens are at most `maxStaleness` versions old.
 * Under `completion` order a straggler may be overtaken, and its own staleness is not bounded.
 */
import type { Version } from "../../domain/Episode.ts";
import * as FixedLag from "../../domain/FixedLag.ts";
import { lead, type PipelineMode } from "../../domain/PipelineMode.ts";
import type { OwedRefill, Position } from "../../domain/Position.ts";
import type { RefillNumbers } from "../../domain/SeedSchedule.ts";

/** The limits of admission. */
export interface Rules {
  readonly mode: PipelineMode;
  /** Groups per window. */
  readonly groups: number;
  /** async: windows a group may be admitted ahead of consumption. */
  readonly maxStaleness: number;
  /** Windows of the whole run. */
  readonly windows: number;
  /** Windows may ask for more groups. */
  readonly refills?: boolean;
  /** The numbers of groups that refills ask for; null, the default, numbers them as other groups, in the order of admission. */
  readonly refillNumbers?: RefillNumbers | null;
}

/** The answer to whether the next group may start; if not, it says what admission waits for. */
export type Decision =
  /** The next group may start, in this window; as one that it asked for, where `asked` says so. `pin` plays it whole, under a fixed lag. */
  | { readonly _tag: "Admit"; readonly window: number; readonly asked?: OwedRefill; readonly pin?: Version }
  /** Not before `consumed` windows are consumed and `version` is adopted. */
  | { readonly _tag: "Wait"; readonly window: number; readonly consumed: number; readonly version: Version }
  /** Not unless `window`, which is whole, asks for more groups; no other window will open. */
  | { readonly _tag: "Verdict"; readonly window: number }
  /** Not before someone lets admission go on. */
  | { readonly _tag: "Paused" }
  | { readonly _tag: "Closed"; readonly reason: "complete" | "stopped" };

/** The oldest version that may sample for a window; while windows before it hold it up, of the versions that there are. */
const oldestVersionFor = (
  rules: Rules,
  { consumed, version }: Pick<Position, "consumed" | "version">,
  window: number,
): Version => Math.max(0, version - Math.max(0, consumed + lead(rules) - window));

/** The version that the generators must have for a window, and the one that plays it whole under a fixed lag. */
const versionsFor = (
  rules: Rules,
  position: Position,
  window: number,
): { readonly least: Version; readonly pinned: { readonly pin?: Version } } => {
  const { consumed, fixedLag, version } = position;
  if (fixedLag === null) return { least: oldestVersionFor(rules, position, window), pinned: {} };
  const pin = FixedLag.versionFor(fixedLag, consumed, window);
  // Before enough windows are consumed nobody knows the version yet, and admission waits for them.
  return pin === undefined ? { least: version, pinned: {} } : { least: pin, pinned: { pin } };
};

/** Decides whether the next group may start, and in which window. */
export const decide = (rules: Rules, position: Position, paused = false): Decision => {
  const { admitted, adopted, asked, consumed, judged, stopped } = position;
  if (asked !== null) {
    if (paused && !stopped) return { _tag: "Paused" };
    const { window } = asked;
    const { least, pinned } = versionsFor(rules, position, window);
    return adopted >= least
      ? { _tag: "Admit", window, asked, ...pinned }
      : { _tag: "Wait", window, consumed: 0, version: least };
  }
  const window = Math.floor(admitted / rules.groups);
  if (stopped || window >= rules.windows) {
    // The window after those that are whole is the first one that will never be.
    const open = Math.max(judged, consumed);
    if (rules.refills === true && open < window) return { _tag: "Verdict", window: open };
    return { _tag: "Closed", reason: stopped ? "stopped" : "complete" };
  }
  if (paused) return { _tag: "Paused" };
  const requiredConsumed = Math.max(0, window - lead(rules));
  const { least, pinned } = versionsFor(rules, position, window);
  return consumed >= requiredConsumed && adopted >= least
    ? { _tag: "Admit", window, ...pinned }
    : { _tag: "Wait", window, consumed: requiredConsumed, version: least };
};

/** True if no window after the first `consumed` ones will be whole. */
export const isLast = (rules: Rules, { admitted, stopped }: Position, consumed: number): boolean =>
  consumed >= rules.windows || (stopped && admitted < (consumed + 1) * rules.groups);
