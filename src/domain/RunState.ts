/**
 * The state of a run as one value, changed only by `observe`. A checkpoint is the encoding of `toCheckpoint(state)`; a step record is a function of
 * two states and the gauges beside them. Invariant: the same events give the same state.
 */
import { Effect, HashMap, Option, Result, Schema } from "effect";
import * as Alarms from "./alarms/Alarms.ts";
import * as CollapseMeans from "./CollapseMeans.ts";
import type { Control } from "./Control.ts";
import { Count } from "./Count.ts";
import * as EarlyStops from "./EarlyStops.ts";
import type { Consumption, Event, Stopped } from "./Event.ts";
import * as FixedLag from "./FixedLag.ts";
import * as Ledger from "./Ledger.ts";
import * as Position from "./Position.ts";
import * as SeedSchedule from "./SeedSchedule.ts";
import * as SkippedUpdates from "./SkippedUpdates.ts";
import * as TaskSampler from "./TaskSampler.ts";

/** Version of the encoding. */
export const SCHEMA = 4;
/** Versions of the encoding that can be read. Version 2 lacks the fixed lag, so its runs have none; it and version 3 lack numbers of refills and the task sampler. */
const READABLE = [2, 3, SCHEMA] as const;

/** True if a state of this schema version can be read; a checkpoint of another one is refused. */
export const isReadable = (schema: unknown): boolean => READABLE.some((readable) => readable === schema);

/** Why a run admits no more groups; `complete` until told otherwise. */
export const Reason = Schema.Literals([
  "complete",
  "stopped",
  "stalled",
  // Earlier versions wrote this for `stopped`.
  "interrupted",
  "empty_selections",
  "gradient_analysis",
  ...EarlyStops.reasons,
]);

export const RunState = Schema.Struct({
  schema: Schema.Literals(READABLE),
  /** Windows whose step is closed: recorded, and validated and saved where due. */
  step: Count,
  position: Position.Position,
  seeds: SeedSchedule.SeedSchedule,
  /**
   * Admitted groups whose window's step is not closed, with the window that each was admitted for. A resumed run makes a window again from
   * all of its groups.
   */
  outstanding: Schema.HashMap(Count, Count),
  ledger: Ledger.Ledger,
  /** Windows in a row whose selection was empty. */
  emptyInARow: Count,
  /** Updates in a row that were skipped; null after one that was not. */
  skipped: Schema.NullOr(SkippedUpdates.SkippedUpdates).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  /** Means of the collapse measurements; null before the first. */
  collapse: Schema.Struct({
    first_turn: Schema.NullOr(CollapseMeans.CollapseMeans),
    trajectory: Schema.NullOr(CollapseMeans.CollapseMeans),
  }).pipe(Schema.withDecodingDefaultKey(Effect.succeed({ first_turn: null, trajectory: null }))),
  /** The posteriors that levels are drawn from; null where training plays no preset with levels. */
  taskSampler: Schema.NullOr(TaskSampler.TaskSampler).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  /** Tokens that took part in an update. */
  trainedTokens: Count,
  /** Validations played; each has its own sequence numbers. */
  validations: Count,
  /** A validation fell due on a window that trained nothing, and is played after the next update. */
  validationDue: Schema.Boolean,
  /** A checkpoint was asked for, and is written when the step under way is closed. */
  checkpointDue: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  /** No group is admitted until admission goes on. */
  paused: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  reason: Reason,
  /** The state of the early-stop rules. */
  seen: EarlyStops.EarlyStopState.pipe(Schema.withDecodingDefaultKey(Effect.succeed(EarlyStops.initial))),
  /** The alarms of a run that cannot learn. */
  alarms: Alarms.Alarms,
  /** Newest checkpoint. */
  checkpoint: Schema.NullOr(Schema.Struct({ step: Count, folder: Schema.String })),
  /** Seconds of training at the last closed step. */
  seconds: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)),
});

/** The state of a run after the events so far. */
export type RunState = typeof RunState.Type;

export const initial: RunState = {
  schema: SCHEMA,
  step: 0,
  position: Position.start(),
  seeds: SeedSchedule.initial,
  outstanding: HashMap.empty(),
  ledger: Ledger.empty,
  emptyInARow: 0,
  skipped: null,
  collapse: { first_turn: null, trajectory: null },
  taskSampler: null,
  trainedTokens: 0,
  validations: 0,
  validationDue: false,
  checkpointDue: false,
  paused: false,
  reason: "complete",
  seen: EarlyStops.initial,
  alarms: Alarms.initial,
  checkpoint: null,
  seconds: 0,
};

/** The state of a new run; with `fixedLag` its groups have their versions by window, with `taskSampler` their levels. */
export const startUnder = (
  fixedLag: FixedLag.FixedLag | null,
  taskSampler: TaskSampler.TaskSampler | null = null,
): RunState => ({
  ...initial,
  position: Position.start({ fixedLag }),
  taskSampler,
});

/** The progress of a run, which its record of events carries on every line. */
export type Progress = Pick<RunState, "step" | "position" | "paused" | "alarms">;

const alarmsAfter = (alarms: Alarms.Alarms, event: Event): Alarms.Alarms => {
  switch (event._tag) {
    case "AlarmsCounted":
      return { ...alarms, counts: event.counts };
    case "AlarmRaised":
    case "AlarmEnded":
      return { ...alarms, standing: Alarms.standingAfter(alarms.standing, event) };
    default:
      return alarms;
  }
};

const pausedAfter = (paused: boolean, event: Event): boolean => {
  if (event._tag !== "Controlled") return paused;
  if (event.control._tag === "PauseAdmission") return true;
  return event.control._tag === "ResumeAdmission" ? false : paused;
};

/** The progress after one event. */
export const observeProgress = ({ alarms, paused, position, step }: Progress, event: Event): Progress => ({
  step: event._tag === "StepClosed" ? event.step : step,
  position: Position.observe(position, event),
  paused: pausedAfter(paused, event),
  alarms: alarmsAfter(alarms, event),
});

/** The part of the state that a control changes. A concurrency belongs to its stage, and a stop has an event of its own. */
const afterControl = ({ _tag }: Control): Partial<RunState> => {
  switch (_tag) {
    case "Validate":
      return { validationDue: true };
    case "Checkpoint":
      return { checkpointDue: true };
    case "PauseAdmission":
    case "ResumeAdmission":
    case "SetConcurrency":
    case "Stop":
      return {};
  }
};

/** The task sampler once a window is consumed. */
const samplerAfter = ({ taskSampler }: RunState, { levelResults }: Consumption): Pick<RunState, "taskSampler"> => ({
  taskSampler: taskSampler === null ? null : TaskSampler.consume(taskSampler, levelResults),
});

/** The fields that an event changes beside the progress and the ledger. */
const change = (state: RunState, event: Event): Partial<RunState> => {
  switch (event._tag) {
    case "Admitted":
      return {
        seeds: SeedSchedule.issue(state.seeds, event.group),
        outstanding: HashMap.set(state.outstanding, event.group, event.window),
      };
    case "Updated":
      return {
        ...samplerAfter(state, event),
        emptyInARow: 0,
        skipped: SkippedUpdates.observe(state.skipped, event),
        trainedTokens: state.trainedTokens + event.tokens,
      };
    case "UpdateSkipped":
      return {
        ...samplerAfter(state, event),
        emptyInARow: 0,
        skipped: SkippedUpdates.observe(state.skipped, event),
      };
    case "EmptySelection":
      return { ...samplerAfter(state, event), emptyInARow: event.consecutive };
    case "CollapseMeasured":
      return {
        collapse: {
          ...state.collapse,
          [event.drawing]: CollapseMeans.observe(state.collapse[event.drawing], event),
        },
      };
    case "ValidationPostponed":
      return { validationDue: true };
    case "Validated":
      // One that was asked for while the starting weights were validated is still due.
      return { validationDue: event.step === 0 && state.validationDue, validations: state.validations + 1 };
    case "StepClosed":
      return {
        seconds: event.seconds,
        outstanding: HashMap.removeMany(state.outstanding, event.groups),
      };
    case "CheckpointWritten":
      return { checkpoint: { step: event.step, folder: event.folder }, checkpointDue: false };
    case "Watched":
      return { seen: event.seen };
    case "Controlled":
      return afterControl(event.control);
    case "Stopped":
      return event.reason === "deadline" ? {} : { reason: event.reason };
    default:
      return {};
  }
};

/** The stop of a run from outside; a window has `groups` groups. Windows that are not wholly admitted are dropped, and played by a resumed run. */
export const stopEvent = ({ position, step }: RunState, groups: number): Stopped => {
  const windows = Math.max(position.consumed, Math.floor(position.admitted / groups));
  return { _tag: "Stopped", reason: "stopped", steps: windows - step };
};

/**
 * True if one more empty selection ends a run that allows fewer than `limit` in a row (0: no limit). A run that stops already ends once.
 */
export const endsEmpty = ({ emptyInARow, position }: RunState, limit: number): boolean =>
  limit > 0 && emptyInARow + 1 >= limit && !position.stopped;

/** The state after one event. */
export const observe = (state: RunState, event: Event): RunState => ({
  ...state,
  ...change(state, event),
  ...observeProgress(state, event),
  ledger: Ledger.observe(state.ledger, event),
});

/** The window that an outstanding group was admitted for. Throws a RangeError of any other group. */
export const windowOf = ({ outstanding }: RunState, group: number): number => {
  const window = Option.getOrUndefined(HashMap.get(outstanding, group));
  if (window === undefined) throw new RangeError(`group ${group} is not outstanding`);
  return window;
};

/** The groups in flight as the event that drops them; null where there are none. */
export const dropEvent = ({ ledger }: RunState): Extract<Event, { readonly _tag: "Dropped" }> | null => {
  const groups = Array.from(HashMap.entries(ledger.inFlight), ([group, tokens]) => ({ group, tokens }));
  return groups.length === 0 ? null : { _tag: "Dropped", groups, reason: "stopped" };
};

/**
 * The state that a checkpoint holds, from `state` at a step boundary: groups in flight are dropped, and groups without a closed step give
 * their numbers back. `refillNumbers` is null where refills have no numbers of their own.
 */
export const toCheckpoint = (
  state: RunState,
  groupsPerWindow: number,
  refillNumbers: SeedSchedule.RefillNumbers | null = null,
): RunState => {
  const dropped = dropEvent(state);
  const { fixedLag, version } = state.position;
  const returned = SeedSchedule.giveBack(state.seeds, HashMap.keys(state.outstanding));
  return {
    ...state,
    position: Position.start({ consumed: state.step, fixedLag, groups: groupsPerWindow, version }),
    seeds: SeedSchedule.goOnWith(returned, state.step, refillNumbers),
    outstanding: HashMap.empty(),
    ledger: dropped === null ? state.ledger : Ledger.observe(state.ledger, dropped),
    checkpointDue: false,
    paused: false,
    reason: "complete",
    checkpoint: null,
  };
};

const isRising = (groups: readonly number[]): boolean => groups.every((group, i) => i === 0 || group > groups[i - 1]!);

/** The contradiction in a state that no sequence of events can produce, in words; undefined where there is none. */
const inconsistency = ({ ledger, seeds, step }: RunState): string | undefined => {
  const balance = Ledger.checkBalance(ledger);
  if (Result.isFailure(balance)) return balance.failure.message;
  const last = seeds.returned.at(-1);
  if (!isRising(seeds.returned) || (last !== undefined && last >= seeds.next)) {
    return `The seeds given back are not ascending numbers below ${seeds.next}.`;
  }
  if (seeds.refills.window > step || !SeedSchedule.isOfRefill(seeds.refills.number)) {
    return `Number ${seeds.refills.number} is not the first for refills of window ${seeds.refills.window} in a run of ${step} steps.`;
  }
  return undefined;
};

/** The reason why a state is none that `toCheckpoint` gives; undefined where it is one. */
export const checkpointProblem = (state: RunState): string | undefined => {
  const { emptyInARow, ledger, outstanding, position, step } = state;
  if (HashMap.size(outstanding) > 0 || HashMap.size(ledger.inFlight) > 0) return "it has groups in flight";
  if (position.consumed !== step) return `it consumed ${position.consumed} windows in ${step} steps`;
  if (position.version > step || emptyInARow > step) {
    return `${position.version} updates and ${emptyInARow} empty selections in a row do not fit into ${step} steps`;
  }
  if (position.adopted !== position.version) {
    return `the generators are at version ${position.adopted}, the learner at ${position.version}`;
  }
  if (ledger.groups.admitted < position.admitted) {
    return `it consumed ${position.admitted} groups, and admitted ${ledger.groups.admitted}`;
  }
  return position.fixedLag === null ? undefined : FixedLag.inconsistency(position.fixedLag, position);
};

const json = Schema.fromJsonString(Schema.toCodecJson(RunState));
const possible = Schema.fromJsonString(
  Schema.toCodecJson(RunState.check(Schema.makeFilter((state: RunState) => inconsistency(state)))),
);

/** A state as the newest schema has it. Schema 3 numbered groups under a fixed lag by blocks; the run goes on behind those of its consumed windows. */
const upgrade = (state: RunState): RunState => {
  const { consumed, fixedLag } = state.position;
  if (fixedLag?.numbers === undefined) return { ...state, schema: SCHEMA };
  const { numbers, ...lag } = fixedLag;
  const seeds = { ...state.seeds, next: consumed * numbers };
  return { ...state, schema: SCHEMA, seeds, position: { ...state.position, fixedLag: lag } };
};

/** As JSON text. */
export const encode = Schema.encodeEffect(json);
/** Fails with a SchemaError where the text is no state of this schema version, or one that no run can come to. */
export const decode = (text: unknown): Effect.Effect<RunState, Schema.SchemaError> =>
  Effect.map(Schema.decodeUnknownEffect(possible)(text), upgrade);
