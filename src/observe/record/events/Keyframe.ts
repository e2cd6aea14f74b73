/** The run at one moment, as plain data: what a `Keyframe` line holds. */
import type { Alarm } from "../../../domain/alarms/Alarms.ts";
import type { Version } from "../../../domain/Episode.ts";
import type { TrackedGroup } from "../../../domain/GroupPlaces.ts";
import type { ServerChange } from "../../../domain/Server.ts";
import type { Sample } from "../../../flow/Bus.ts";
import type { RunLine } from "./RunLine.ts";

export interface Keyframe {
  /** Steps closed. */
  readonly step: number;
  readonly at: number;
  readonly version: Version;
  /** Newest version that all generators sample with. */
  readonly adopted: Version;
  readonly paused: boolean;
  /** Groups of a validation that are done; null while none is played. */
  readonly validating: { readonly step: number; readonly done: number; readonly of: number } | null;
  /** Admitted groups whose window's step is not closed. */
  readonly groups: readonly TrackedGroup[];
  /** Parts of the run on other machines; absent where there are none. */
  readonly servers?: readonly ServerChange[];
  /** Active alarms, oldest first; absent if no alarm was raised. */
  readonly alarms?: readonly Alarm[];
  /** Shares of failed episodes in the last step and the last validation; absent if none failed. */
  readonly failed?: { readonly training?: number; readonly validation?: number };
  /** The settings of the run; null before the first line. */
  readonly run: RunLine | null;
  /** The newest gauges. */
  readonly sample: Sample | null;
  readonly ended: { readonly outcome: "completed" | "stopped" | "failed"; readonly message: string } | null;
}
