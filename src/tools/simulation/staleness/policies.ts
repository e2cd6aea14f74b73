/** The staleness policies that the simulator compares. Staleness is that of a group's oldest token, in versions, when its training begins. */
import type { PipelineMode } from "../../../domain/PipelineMode.ts";
import * as Admission from "../../../flow/admission/Admission.ts";
import * as Deadlines from "./Deadlines.ts";
import type { LiveGroup, PipelineState, StalenessPolicy } from "./StalenessPolicy.ts";

/** Selects the groups that were admitted for the next window, once all of them have ended. */
const oldestWindow =
  (groups: number): StalenessPolicy["selects"] =>
  ({ finished, position: { consumed } }) => {
    const window = finished.filter(({ number }) => Math.floor(number / groups) === consumed);
    return window.length < groups ? null : window;
  };

const firstFinished =
  (groups: number): StalenessPolicy["selects"] =>
  ({ finished }) =>
    finished.length < groups ? null : finished.slice(0, groups);

/** The order of admission is that of their starts, so the oldest groups come first. */
const oldestFinished = ({ finished }: PipelineState): LiveGroup[] => finished.toSorted((a, b) => a.number - b.number);

export interface EngineRules {
  readonly mode: PipelineMode;
  /** Groups per window. */
  readonly groups: number;
  readonly maxStaleness: number;
  readonly order: "admission" | "completion";
  /** Windows of the whole run. */
  readonly windows: number;
}

/** Bounds staleness when a group is admitted, by the engine's own rules. In `completion` order it bounds the backlog alone. */
export const admissionBound = ({ order, ...rules }: EngineRules): StalenessPolicy => ({
  admits: ({ position }) => Admission.decide(rules, position)._tag === "Admit",
  selects: order === "admission" ? oldestWindow(rules.groups) : firstFinished(rules.groups),
});

/** Plays window w whole by the weights that stood when windows 0 to w - maxStaleness - 1 had been consumed. */
export const fixedLag = (rules: Omit<EngineRules, "order">): StalenessPolicy => ({
  ...admissionBound({ ...rules, order: "admission" }),
  pinnedVersion: (group, { versions }) =>
    versions[Math.max(0, Math.floor(group / rules.groups) - rules.maxStaleness)] ?? 0,
});

/** The policy that the engine follows: free running, or a fixed lag, which async mode alone has. */
export const engineRule = (rules: EngineRules, schedule: "free_running" | "fixed_lag"): StalenessPolicy =>
  schedule === "fixed_lag" && rules.mode === "async" ? fixedLag(rules) : admissionBound(rules);

export interface FreeAdmission {
  /** Groups per window. */
  readonly groups: number;
  readonly maxStaleness: number;
  /** Finished groups that may wait for the learner; no group starts beyond it. */
  readonly buffer: number;
}

const hasRoom = ({ buffer }: FreeAdmission, { finished, freeSlots }: PipelineState): boolean =>
  freeSlots > 0 && finished.length < buffer;

/** The version that the next window will be trained from, once the update in progress is done. */
const nextVersion = ({ isLearning, position }: PipelineState): number => position.version + (isLearning ? 1 : 0);

const oldestGroups =
  (groups: number): StalenessPolicy["selects"] =>
  (state) =>
    state.finished.length < groups ? null : oldestFinished(state).slice(0, groups);

/** Starts groups as slots get free, and throws away those that are too stale when the learner takes them. */
export const dropAtConsumption = (options: FreeAdmission): StalenessPolicy => ({
  admits: (state) => hasRoom(options, state),
  discards: ({ finished, isLearning, position }) =>
    isLearning ? [] : finished.filter(({ start }) => position.version - start > options.maxStaleness),
  selects: oldestGroups(options.groups),
});

/** Starts groups as slots get free, and aborts each as soon as it could only be trained too late. */
export const cancelInFlight = (options: FreeAdmission): StalenessPolicy => ({
  admits: (state) => hasRoom(options, state),
  discards: (state) => state.live.filter(({ start }) => nextVersion(state) - start > options.maxStaleness),
  selects: oldestGroups(options.groups),
});

/**
 * Starts a group, and trains on the oldest finished ones, only while all groups that are left can still meet their deadlines. Nothing is
 * thrown away: the learner waits for a straggler instead.
 */
export const feasibleWait = (options: FreeAdmission): StalenessPolicy => {
  const { groups } = options;
  const areFeasible = (live: readonly LiveGroup[], version: number): boolean =>
    Deadlines.areFeasible(
      live.map(({ start }) => start),
      { ...options, version },
    );
  return {
    admits: (state) => {
      const next: LiveGroup = { number: state.position.admitted, start: state.position.version };
      return hasRoom(options, state) && areFeasible([...state.live, next], nextVersion(state));
    },
    selects: (state) => {
      if (state.finished.length < groups) return null;
      const window = oldestFinished(state).slice(0, groups);
      const rest = state.live.filter((group) => !window.includes(group));
      return areFeasible(rest, state.position.version + 1) ? window : null;
    },
  };
};
