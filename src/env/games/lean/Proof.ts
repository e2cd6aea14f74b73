/**
 * The state machine of a proof, as pure functions: a tactic and Lean's check of it give the next state and its reward. A rejected tactic is not
 * part of the proof, but counts as a step. The log has only the entries that prompts show.
 */
import type { BaseInfo, Transition } from "../../contract/Environment.ts";
import type { LeanConfig } from "./LeanConfig.ts";
import { isUnsolved, type LeanMessage, type ProofCheck } from "./ProofCheck.ts";
import type { Theorem } from "./Theorem.ts";

/** The state keeps, and prompts show, so many log entries. */
export const maxLogEntries = 5;

export interface LeanState {
  readonly theorem: Theorem;
  /** The number of tactics tried. */
  readonly steps: number;
  /** The accepted tactics, in order. */
  readonly tactics: readonly string[];
  /** The latest tactics tried, the last one last. */
  readonly log: readonly { readonly tactic: string; readonly accepted: boolean }[];
  /** Lean's answer to the last tactic. */
  readonly feedback: { readonly accepted: boolean; readonly messages: readonly LeanMessage[] } | null;
  /** The goal that was left after the last accepted tactic, as Lean prints it; null if Lean has not printed one. */
  readonly goal: string | null;
  readonly proved: boolean;
}

export interface LeanInfo extends BaseInfo {
  readonly accepted: boolean;
  /** True if Lean exceeded its time limit. */
  readonly timed_out: boolean;
}

export const initialState = (theorem: Theorem): LeanState => ({
  theorem,
  steps: 0,
  tactics: [],
  log: [],
  feedback: null,
  goal: null,
  proved: false,
});

const isOutOfSteps = (config: LeanConfig, state: LeanState): boolean =>
  !state.proved && state.steps >= config.max_steps;

export const isEnded = (config: LeanConfig, state: LeanState): boolean => state.proved || isOutOfSteps(config, state);

const goalIn = (messages: readonly LeanMessage[]): string | null => {
  const unsolved = messages.find(isUnsolved);
  return unsolved === undefined ? null : unsolved.data.replace(/^.*unsolved goals\s*/i, "").trim();
};

const rewardOf = (config: LeanConfig, { accepted, success, timedOut }: ProofCheck, isCut: boolean): number => {
  let reward = config.step_penalty;
  reward += accepted ? config.valid_step_reward : config.invalid_step_reward;
  if (success) reward += config.success_reward;
  if (timedOut) reward += config.timeout_penalty;
  if (isCut) reward += config.max_steps_penalty;
  return reward;
};

const info = ({ accepted, success, timedOut }: ProofCheck): LeanInfo => ({
  success,
  action_is_effective: accepted,
  action_is_valid: accepted,
  accepted,
  timed_out: timedOut,
});

export const transitionAfter = (
  config: LeanConfig,
  state: LeanState,
  tactic: string,
  check: ProofCheck,
): Transition<LeanState, LeanInfo> => {
  const { accepted, messages, success } = check;
  const next: LeanState = {
    theorem: state.theorem,
    steps: state.steps + 1,
    tactics: accepted ? [...state.tactics, tactic] : state.tactics,
    log: [...state.log, { tactic, accepted }].slice(-maxLogEntries),
    feedback: { accepted, messages },
    goal: accepted ? goalIn(messages) : state.goal,
    proved: success,
  };
  const isCut = isOutOfSteps(config, next);
  return {
    state: next,
    reward: rewardOf(config, check, isCut),
    terminated: success,
    truncated: isCut,
    info: info(check),
  };
};

/** The transition of a step after the end, which changes nothing. */
export const unchangedTransition = (config: LeanConfig, state: LeanState): Transition<LeanState, LeanInfo> => ({
  state,
  reward: 0,
  terminated: state.proved,
  truncated: isOutOfSteps(config, state),
  info: {
    success: state.proved,
    action_is_effective: false,
    action_is_valid: false,
    accepted: false,
    timed_out: false,
  },
});
