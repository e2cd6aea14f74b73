/**
 * The run as its events tell it, at any moment: where each group is, which weights are where, what the gauges say. One pure `observe`, used by
 * the log that writes keyframes and by whoever reads them. Invariant: going on from a keyframe gives what reading all lines before it gives.
 */
import { HashMap } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { JudgedGroup } from "../../domain/Event.ts";
import type { Sample } from "../../stage/Bus.ts";
import type { EventLine } from "./EventLine.ts";

/** Where a group is. `left`: trained on, left out or failed, and gone with the close of its step. */
export type Place = "rollout" | "window" | "score" | "filter" | "learn" | "close";

export interface GroupAt {
  readonly group: number;
  /** The window it was admitted for, then the one it is in. */
  readonly window: number;
  readonly place: Place;
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly admitted: number;
  readonly verdict?: JudgedGroup["verdict"];
}

export interface Replay {
  /** Steps closed. */
  readonly step: number;
  readonly at: number;
  readonly version: Version;
  /** Newest version that all generators sample with. */
  readonly adopted: Version;
  readonly paused: boolean;
  /** Groups of a validation that are done; null while none is played. */
  readonly validating: { readonly step: number; readonly done: number; readonly of: number } | null;
  readonly groups: HashMap.HashMap<number, GroupAt>;
  /** The newest gauges. */
  readonly sample: Sample | null;
  readonly ended: { readonly outcome: "completed" | "stopped" | "failed"; readonly message: string } | null;
}

/** A `Replay` as plain data. */
export interface Keyframe extends Omit<Replay, "groups"> {
  readonly groups: readonly GroupAt[];
}

export const initial: Replay = {
  step: 0,
  at: 0,
  version: 0,
  adopted: 0,
  paused: false,
  validating: null,
  groups: HashMap.empty(),
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
    group.window === window && group.place !== "rollout" ? { ...group, place, since } : group,
  );

const without = (groups: Groups, ids: Iterable<number>): Groups => HashMap.removeMany(groups, ids);

/** What a line changes beside the time. */
const change = (replay: Replay, line: EventLine): Partial<Replay> => {
  const { groups } = replay;
  const { at } = line;
  switch (line._tag) {
    case "Keyframe":
      return ofKeyframe(line.frame);
    case "Run":
      return { ended: null };
    case "Resumed":
      return { step: line.step, groups: HashMap.empty(), paused: false, validating: null, ended: null };
    case "Admitted": {
      const { group, window } = line;
      return { groups: HashMap.set(groups, group, { group, window, place: "rollout", since: at, admitted: at }) };
    }
    case "Finished":
      return {
        groups: HashMap.modify(groups, line.group, (group) => ({
          ...group,
          place: "window",
          since: at,
          ...(line.failed ? { verdict: "failed" as const } : {}),
        })),
      };
    case "Windowed": {
      const members = new Set(line.groups);
      return {
        groups: HashMap.map(groups, (group) =>
          members.has(group.group) ? { ...group, window: line.window, place: "score", since: at } : group,
        ),
      };
    }
    case "Scored":
      return { groups: moved(groups, line.window, "filter", at) };
    case "Verdict": {
      const verdicts = new Map(line.judged.map(({ group, verdict }) => [group, verdict]));
      return {
        groups: HashMap.map(groups, (group) => {
          const verdict = verdicts.get(group.group);
          return verdict === undefined ? group : { ...group, verdict, place: "learn", since: at };
        }),
      };
    }
    case "Updated":
      return { version: Math.max(replay.version, line.version), groups: moved(groups, line.window, "close", at) };
    case "EmptySelection":
    case "UpdateSkipped":
      return { groups: moved(groups, line.window, "close", at) };
    case "WeightsAdopted":
      return { adopted: Math.max(replay.adopted, line.version) };
    case "Dropped":
      return {
        groups: without(
          groups,
          line.groups.map(({ group }) => group),
        ),
      };
    case "Validating":
      return { validating: { step: line.step, done: line.done, of: line.of } };
    case "Validated":
      return { validating: null };
    case "StepClosed":
      return { step: line.step, groups: without(groups, line.groups) };
    case "Controlled":
      if (line.control._tag === "PauseAdmission") return { paused: true };
      return line.control._tag === "ResumeAdmission" ? { paused: false } : {};
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
  ...change(replay, line),
  at: line.at,
});
