/**
 * When the next group may start, as a pure function of the run's position. Windows are counted by consumption, not by versions made, so
 * an empty selection, a failed group and a skipped update reopen admission like an update does.
 *
 *   lockstep, sync   window w opens once windows 0..w-1 are consumed and the last version they made is adopted
 *   async            window w opens once w <= consumed + max staleness, and the generators sample with a version that is not too old for it
 *
 * A window is trained from the version of now and one more for each window before it that is still to be consumed, at most. So a version is too old
 * for it when that lies more than the bound above it: while generators take a version, no group starts that would be one too stale for it.
 *
 * Where windows may ask for more groups (`refills`), what the oldest window without a verdict asks for goes first, and counts as its own: it
 * opens no window and waits for none, but for the version. A stop closes admission to new windows; those that are whole still get what they ask for, so that
 * they train on what they would have without it.
 *
 * Invariants: in async a group consumed in admission order was admitted at most `maxStaleness` consumed windows earlier, and all its tokens were sampled
 * at most `maxStaleness` versions before the one that it is trained from; at most
 * (maxStaleness + 1) windows of groups, and what these asked for, are admitted and not consumed, whatever the order. Under `completion` order that backlog
 * is the only bound: a straggler may be overtaken, and its own staleness is then not bounded.
 */
import type { Version } from "../../domain/Episode.ts";
import { lead, type PipelineMode } from "../../domain/PipelineMode.ts";
import type { OwedRefill, Position } from "../../domain/Position.ts";

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
}

export type Decision =
  /** The next group may start, in this window; as one that it asked for, where `asked` says so. */
  | { readonly _tag: "Admit"; readonly window: number; readonly asked?: OwedRefill }
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

export const decide = (
  rules: Rules,
  { admitted, adopted, asked, consumed, judged, stopped, version }: Position,
  paused = false,
): Decision => {
  if (asked !== null) {
    if (paused && !stopped) return { _tag: "Paused" };
    const { window } = asked;
    const requiredVersion = oldestVersionFor(rules, { consumed, version }, window);
    return adopted >= requiredVersion
      ? { _tag: "Admit", window, asked }
      : { _tag: "Wait", window, consumed: 0, version: requiredVersion };
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
  const requiredVersion = oldestVersionFor(rules, { consumed, version }, window);
  return consumed >= requiredConsumed && adopted >= requiredVersion
    ? { _tag: "Admit", window }
    : { _tag: "Wait", window, consumed: requiredConsumed, version: requiredVersion };
};

/** Whether no window after the first `consumed` ones will be whole. */
export const isLast = (rules: Rules, { admitted, stopped }: Position, consumed: number): boolean =>
  consumed >= rules.windows || (stopped && admitted < (consumed + 1) * rules.groups);
