/**
 * The run as its events tell it, at any moment: where each group is, which weights are where, what the gauges say. One pure `observe`, used by
 * the log that writes keyframes and by whoever reads them. Invariant: going on from a keyframe gives what reading all lines before it gives.
 */
import { HashMap } from "effect";
import { standingAfter } from "../../../domain/alarms/Alarms.ts";
import { changed as changedServers } from "../../../domain/Server.ts";
import type { EventLine } from "./EventLine.ts";
import type { GroupAt, Keyframe, Place } from "./Keyframe.ts";
import type { RunLine } from "./RunLine.ts";

export interface Replay extends Omit<Keyframe, "groups"> {
  readonly groups: HashMap.HashMap<number, GroupAt>;
}

export const initial: Replay = {
  step: 0,
  at: 0,
  version: 0,
  adopted: 0,
  paused: false,
  validating: null,
  groups: HashMap.empty(),
  run: null,
  sample: null,
  ended: null,
};

export const keyframeOf = (replay: Replay): Keyframe => ({ ...replay, groups: [...HashMap.values(replay.groups)] });

export const ofKeyframe = (frame: Keyframe): Replay => ({
  ...frame,
  groups: HashMap.fromIterable(frame.groups.map((group) => [group.group, group] as const)),
});

type Groups = Replay["groups"];

/** Moves the groups of a window that are in it to `place`. */
const moved = (groups: Groups, window: number, place: Place, since: number): Groups =>
  HashMap.map(groups, (group) =>
    group.window === window && group.place !== "rollout" && group.place !== "window"
      ? { ...group, place, since }
      : group,
  );

/** Changes those of the groups that are there. */
const changed = (groups: Groups, ids: readonly number[], to: (group: GroupAt) => GroupAt): Groups =>
  ids.reduce((all, id) => HashMap.modify(all, id, to), groups);

/** Where a line leaves the groups. */
const placed = (groups: Groups, line: EventLine): Groups => {
  const { at } = line;
  switch (line._tag) {
    case "Resumed":
      return HashMap.empty();
    case "Admitted": {
      const { group, window } = line;
      return HashMap.set(groups, group, { group, window, place: "rollout", since: at, admitted: at });
    }
    case "Finished":
      return HashMap.modify(groups, line.group, (group) => ({
        ...group,
        place: "window",
        since: at,
        ...(line.failed ? { verdict: "failed" as const } : {}),
      }));
    case "Windowed": {
      const { window } = line;
      return changed(groups, line.groups, (group) => ({ ...group, window, place: "score", since: at }));
    }
    case "Scored":
      return moved(groups, line.window, "filter", at);
    case "Verdict":
      return line.judged.reduce(
        (all, { group, verdict }) =>
          changed(all, [group], (found) => ({ ...found, verdict, place: "learn", since: at })),
        groups,
      );
    case "Updated":
    case "EmptySelection":
    case "UpdateSkipped":
      return moved(groups, line.window, "close", at);
    case "Dropped":
      return HashMap.removeMany(
        groups,
        line.groups.map(({ group }) => group),
      );
    case "StepClosed":
      return HashMap.removeMany(groups, line.groups);
    default:
      return groups;
  }
};

const runOf = ({ at: _at, step: _step, ...run }: EventLine & { readonly _tag: "Run" }): RunLine => run;

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

/** What a line changes beside the time and the groups. */
const change = (replay: Replay, line: EventLine): Partial<Replay> => {
  switch (line._tag) {
    case "Keyframe":
      return ofKeyframe(line.frame);
    case "Run":
      return { run: runOf(line), ended: null };
    case "Resumed":
      return { step: line.step, paused: false, validating: null, ended: null, servers: [] };
    case "Updated":
      return { version: Math.max(replay.version, line.version) };
    case "WeightsAdopted":
      return { adopted: Math.max(replay.adopted, line.version) };
    case "Validating":
      return { validating: { step: line.step, done: line.done, of: line.of } };
    case "Validated":
      return { validating: null, ...failing(replay, "validation", line.failed) };
    case "StepClosed":
      return { step: line.step, ...failing(replay, "training", line.failed) };
    case "AlarmRaised":
    case "AlarmEnded":
      return { alarms: standingAfter(replay.alarms ?? [], line) };
    case "Controlled":
      if (line.control._tag === "PauseAdmission") return { paused: true };
      return line.control._tag === "ResumeAdmission" ? { paused: false } : {};
    case "ServerChanged": {
      const { name, role, state } = line;
      return { servers: changedServers(replay.servers ?? [], { role, name, state }) };
    }
    case "Gauges":
      return { sample: line.sample };
    case "End":
      return { ended: { outcome: line.outcome, message: line.message } };
    default:
      return {};
  }
};

/** The run after one more line. */
export const observe = (replay: Replay, line: EventLine): Replay => ({
  ...replay,
  groups: placed(replay.groups, line),
  ...change(replay, line),
  at: line.at,
});
