/**
 * The state of a run at any moment, from its lines of events.jsonl: progress, places of groups, gauges. The log that writes
 * keyframes and all readers share the pure `observe`. Invariant: a replay from a keyframe equals a replay of all lines before it.
 */
import { HashMap } from "effect";
import type { Event } from "../../../domain/Event.ts";
import * as GroupPlaces from "../../../domain/GroupPlaces.ts";
import * as RunState from "../../../domain/RunState.ts";
import { withServerChange as changedServers } from "../../../domain/Server.ts";
import type { EventLine } from "./EventLine.ts";
import type { Keyframe } from "./Keyframe.ts";
import type { RunLine } from "./RunLine.ts";

export interface Replay extends Omit<Keyframe, "step" | "version" | "adopted" | "paused" | "alarms" | "groups"> {
  /** A keyframe holds only the versions of the run's position. After one, the rest of the position is counted from there. */
  readonly progress: RunState.Progress;
  readonly groups: GroupPlaces.GroupPlaces;
}

export const initial: Replay = {
  at: 0,
  progress: RunState.initial,
  validating: null,
  groups: GroupPlaces.empty,
  run: null,
  sample: null,
  ended: null,
};

export const keyframeOf = ({ groups, progress, ...rest }: Replay): Keyframe => {
  const { alarms, paused, position, step } = progress;
  return {
    step,
    version: position.version,
    adopted: position.adopted,
    paused,
    ...(alarms.standing.length === 0 ? {} : { alarms: alarms.standing }),
    groups: [...HashMap.values(groups)],
    ...rest,
  };
};

export const fromKeyframe = ({ adopted, alarms = [], groups, paused, step, version, ...rest }: Keyframe): Replay => ({
  ...rest,
  progress: {
    step,
    position: { ...RunState.initial.position, version, adopted },
    paused,
    alarms: { ...RunState.initial.alarms, standing: alarms },
  },
  groups: HashMap.fromIterable(groups.map((group) => [group.group, group] as const)),
});

/** The shares of failed episodes, with that of one kind replaced. */
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

/** The changes by an event, except those of time, progress and groups. */
const change = (replay: Replay, event: Event): Partial<Replay> => {
  switch (event._tag) {
    case "Resumed":
      return {
        progress: { ...replay.progress, step: event.step, paused: false },
        validating: null,
        ended: null,
        servers: [],
      };
    case "Validating":
      return { validating: { step: event.step, done: event.done, of: event.of } };
    case "Validated":
      return { validating: null, ...failing(replay, "validation", event.failed) };
    case "StepClosed":
      return failing(replay, "training", event.failed);
    case "ServerChanged":
      return { servers: changedServers(replay.servers ?? [], event) };
    default:
      return {};
  }
};

const runOf = ({ at: _at, step: _step, ...run }: EventLine & { readonly _tag: "Run" }): RunLine => run;

/** The state of the run after one more line. */
export const observe = (replay: Replay, line: EventLine): Replay => {
  const { at } = line;
  switch (line._tag) {
    case "Keyframe":
      return fromKeyframe(line.frame);
    case "Run":
      return { ...replay, at, run: runOf(line), ended: null };
    case "Gauges":
      return { ...replay, at, sample: line.sample };
    case "End":
      return { ...replay, at, ended: { outcome: line.outcome, message: line.message } };
    default:
      return {
        ...replay,
        at,
        progress: RunState.observeProgress(replay.progress, line),
        groups: GroupPlaces.observe(replay.groups, line, at),
        ...change(replay, line),
      };
  }
};
