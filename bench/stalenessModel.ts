/**
 * The run on which staleness policies are compared, in virtual time: one generator thread whose rows are a window's episodes, and a learner with a
 * machine of its own. A decode step takes `FIXED_SHARE + (1 - FIXED_SHARE) * rows / SLOTS` milliseconds; an update's time is proportional to its tokens.
 */
import { bucket } from "../src/domain/Passes.ts";
import { stream } from "../src/domain/Random.ts";
import { mean } from "../src/domain/Statistics.ts";
import type { Machine } from "../src/tools/simulation/replay/Machine.ts";
import type { PlayedGroup } from "../src/tools/simulation/replay/Played.ts";
import { outcomeOf, type PolicyOutcome } from "../src/tools/simulation/replay/PolicyOutcome.ts";
import { runUnder, type Settings, type TrainingResult, type Work } from "../src/tools/simulation/replay/Training.ts";
import * as Policies from "../src/tools/simulation/staleness/policies.ts";
import type { StalenessPolicy } from "../src/tools/simulation/staleness/StalenessPolicy.ts";
import { draw, type Kind } from "./latency.ts";

/** Groups per window, episodes per group, and rows of the generator: one window of episodes. */
const GROUPS = 8;
const GROUP_SIZE = 8;
const SLOTS = GROUPS * GROUP_SIZE;
/** Mean tokens of an episode. */
const TOKENS = 200;
/** Share of a decode step that does not depend on its rows, when all rows are busy. */
const FIXED_SHARE = 0.5;

export const lengths = ["lognormal(0.5)", "lognormal(1)", "Pareto(1.5)"] as const satisfies readonly Kind[];

/** Time of the learner for a token over the time of the generator with all rows busy. */
export const balances = { "generator-bound": 0.5, balanced: 1, "learner-bound": 2 } as const;
export type Balance = keyof typeof balances;

export const policies = [
  "bound at admission",
  "completion order",
  "fixed lag",
  "drop at consumption",
  "cancel in flight",
  "feasible waiting",
] as const;
export type PolicyName = (typeof policies)[number];

/** Completion order bounds the backlog, and no group's staleness. */
export const isBounded = (policy: PolicyName): boolean => policy !== "completion order";

export interface Case {
  readonly lengths: Kind;
  readonly balance: Balance;
  readonly maxStaleness: number;
  readonly seed: number;
  /** Share of a decode step that does not depend on its rows; default 0.5. */
  readonly fixedShare?: number;
  /** Rows of the generator; default one window of episodes. */
  readonly slots?: number;
  /** True when episodes of a group are as different as those of different groups. */
  readonly areIndependent?: boolean;
  /** True when the tail is in five steps of environments, which take four fifths of an episode, and all episodes have as many tokens. */
  readonly hasSlowSteps?: boolean;
  /** Finished groups that may wait where admission is free; default one window. */
  readonly buffer?: number;
}

/** Turns, tokens of a turn and mean step time, milliseconds, of episodes with slow steps. */
const TURNS = 5;
const TURN_TOKENS = 48;
const STEP_TIME = 120;

/** Milliseconds of an episode with slow steps, if a fifth of the rows decode. */
const slowEpisode = ({ fixedShare = FIXED_SHARE }: Case): number =>
  TURNS * (TURN_TOKENS * (fixedShare + (1 - fixedShare) / 5) + STEP_TIME);

/** Milliseconds that the generator takes for a token while all slots are busy. */
const tokenTime = (given: Case): number => {
  const { hasSlowSteps = false, slots = SLOTS } = given;
  return (hasSlowSteps ? slowEpisode(given) / (TURNS * TURN_TOKENS) : 1) / slots;
};

const machineOf = (given: Case): Machine => {
  const { balance, fixedShare = FIXED_SHARE, slots = SLOTS } = given;
  return {
    cores: 4,
    decode: { step: fixedShare, row: (1 - fixedShare) / slots, crowding: 0 },
    prefill: { step: 0, token: 0 },
    fedShare: 1,
    turn: 0,
    steps: [0],
    stepComputes: 0,
    update: { token: new Map([[1, balances[balance] * tokenTime(given)]]), lanes: new Map([[1, 1]]) },
    window: 0,
    handover: 0,
    slowdown: { generatorByGenerator: 0, generatorByLane: 0, laneByGenerator: 0 },
  };
};

const settingsOf = ({ maxStaleness, slots = SLOTS }: Case): Settings => ({
  mode: "async",
  maxStaleness,
  order: "admission",
  slots,
  generatorThreads: 1,
  lanes: 1,
  // Each token sequence is a pass of its own, so that none is padded.
  microBatchTokens: 1,
  rolloutConcurrency: 0,
  stepThreads: slots,
  stepConcurrency: slots,
});

type Episode = PlayedGroup["episodes"][number];

/** Lengths that the learner does not pad, so that its ideal is exact. */
const turnOf = (tokens: number) => ({ prompt: 0, sampled: bucket(tokens) });

/** Episodes of a group have the factor of its prompt in common, unless they are independent. */
const episodeOf = ({ areIndependent = false, hasSlowSteps = false, lengths: kind, seed }: Case) => {
  const factorOf = (...counters: readonly number[]) => draw(kind, 1, stream({ seed, purpose: "play", counters }));
  return (group: number, member: number): Episode => {
    if (hasSlowSteps) return Array.from({ length: TURNS }, () => turnOf(TURN_TOKENS));
    const factor = areIndependent ? factorOf(group, member) : factorOf(group);
    const { uniform } = stream({ seed, purpose: "noise", counters: [group, member] });
    return [turnOf(TOKENS * factor * mean(Array.from({ length: 5 }, () => 0.5 + uniform())))];
  };
};

const workOf = (given: Case): Work => {
  const { hasSlowSteps = false, lengths: kind, seed } = given;
  const episode = episodeOf(given);
  const playedGroups = new Map<number, PlayedGroup>();
  return {
    groups: GROUPS,
    miniBatch: 10 * SLOTS,
    prefillTokens: Number.POSITIVE_INFINITY,
    play: (number) => {
      const group = playedGroups.get(number) ?? {
        kept: true,
        episodes: Array.from({ length: GROUP_SIZE }, (_, member) => episode(number, member)),
      };
      playedGroups.set(number, group);
      return group;
    },
    step: (count) =>
      hasSlowSteps ? draw(kind, STEP_TIME, stream({ seed, purpose: "instance", counters: [count] })) : 0,
  };
};

export const policyOf = (
  name: PolicyName,
  { buffer = GROUPS, maxStaleness }: Case,
  windows: number,
): StalenessPolicy => {
  const rules = { mode: "async", groups: GROUPS, maxStaleness, windows } as const;
  const free = { groups: GROUPS, maxStaleness, buffer };
  switch (name) {
    case "bound at admission":
      return Policies.admissionBound({ ...rules, order: "admission" });
    case "completion order":
      return Policies.admissionBound({ ...rules, order: "completion" });
    case "fixed lag":
      return Policies.fixedLag(rules);
    case "drop at consumption":
      return Policies.dropAtConsumption(free);
    case "cancel in flight":
      return Policies.cancelInFlight(free);
    case "feasible waiting":
      return Policies.feasibleWait(free);
  }
};

/** Runs `windows` windows of a case under a policy. */
export const simulate = (policy: PolicyName, given: Case, windows: number, work = workOf(given)): TrainingResult =>
  runUnder(policyOf(policy, given, windows), machineOf(given), settingsOf(given), work, windows);

/** The figures of a case under a policy, its throughput over the ideal of the slower stage. */
export const measure = (policy: PolicyName, given: Case, windows: number, warmUp: number): PolicyOutcome => {
  const work = workOf(given);
  const outcome = outcomeOf(simulate(policy, given, windows, work), work, warmUp);
  const ideal = 1 / (tokenTime(given) * Math.max(1, balances[given.balance]));
  return { ...outcome, throughput: outcome.throughput / ideal };
};
