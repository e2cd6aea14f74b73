/**
 * The run as its events tell it, at any moment: where each group is, which weights are where, what the gauges say. One pure `observe`, used by
 * the log that writes keyframes and by whoever reads them. Invariant: going on from a keyframe gives what reading all lines before it gives.
 */
import { HashMap } from "effect";
import { standingAfter } from "../../../domain/alarms/Alarms.ts";
import type { Event } from "../../../domain/Event.ts";
import * as GroupPlaces from "../../../domain/GroupPlaces.ts";
import { changed as changedServers } from "../../../domain/Server.ts";
import type { EventLine } from "./EventLine.ts";
import type { Keyframe } from "./Keyframe.ts";
import type { RunLine } from "./RunLine.ts";

export interface Replay extends Omit<Keyframe, "groups"> {
  readonly groups: GroupPlaces.GroupPlaces;
}

export const initial: Replay = {
  step: 0,
  at: 0,
  version: 0,
  adopted: 0,
  paused: false,
  validating: null,
  groups: GroupPlaces.empty,
  run: null,
  sample: null,
  ended: null,
};

export const keyframeOf = (replay: Replay): Keyframe => ({ ...replay, groups: [...HashMap.values(replay.groups)] });

export const ofKeyframe = (frame: Keyframe): Replay => ({
  ...frame,
  groups: HashMap.fromIterable(frame.groups.map((group) => [group.group, group] as const)),
});

/** The shares of episodes that failed, that of one kind renewed. */
const failing = (
  { failed }: Replay,
  kind: "training" | "validation",
  share: number | undefined,
): Pick<Replay, "failed"> => {
  if (share !== undefined) return { failed: { ...failed, [kind]: share } };
  if (failed === undefined) return {};
  const { [kind]: _, ...other } = failed;
  return { failed: other };
};

/** What an event changes beside the time and the groups. */
const change = (replay: Replay, event: Event): Partial<Replay> => {
  switch (event._tag) {
    case "Resumed":
      return { step: event.step, paused: false, validating: null, ended: null, servers: [] };
    case "Updated":
      return { version: Math.max(replay.version, event.version) };
    case "WeightsAdopted":
      return { adopted: Math.max(replay.adopted, event.version) };
    case "Validating":
      return { validating: { step: event.step, done: event.done, of: event.of } };
    case "Validated":
      return { validating: null, ...failing(replay, "validation", event.failed) };
    case "StepClosed":
      return { step: event.step, ...failing(replay, "training", event.failed) };
    case "AlarmRaised":
    case "AlarmEnded":
      return { alarms: standingAfter(replay.alarms ?? [], event) };
    case "Controlled":
      if (event.control._tag === "PauseAdmission") return { paused: true };
      return event.control._tag === "ResumeAdmission" ? { paused: false } : {};
    case "ServerChanged":
      return { servers: changedServers(replay.servers ?? [], event) };
    default:
      return {};
  }
};

const runOf = ({ at: _at, step: _step, ...run }: EventLine & { readonly _tag: "Run" }): RunLine => run;

/** The run after one more line. */
export const observe = (replay: Replay, line: EventLine): Replay => {
  const { at } = line;
  switch (line._tag) {
    case "Keyframe":
      return ofKeyframe(line.frame);
    case "Run":
      return { ...replay, at, run: runOf(line), ended: null };
    case "Gauges":
      return { ...replay, at, sample: line.sample };
    case "End":
      return { ...replay, at, ended: { outcome: line.outcome, message: line.message } };
    default:
      return { ...replay, at, groups: GroupPlaces.observe(replay.groups, line, at), ...change(replay, line) };
  }
};
