/**
 * Episodes as data: prompts, sampled replies and rewards. The record is exact to the token: the sampled ids are the history that the model
 * sees next and the text it is trained on. Each id has its log-probability `mu` under the distribution it was drawn from, and the weights
 * version that drew it.
 */

import type { AgentCall } from "./AgentCall.ts";
import type { Info } from "./Info.ts";

/** Weights version: 0 is the checkpoint the run started from, +1 per update. */
export type Version = number;

/** The end of a reply: an end token or stop sequence was sampled, or its token limit was reached. */
export type Finish = "stop" | "length";

/** A range of cache positions that one weights version computed: in one chunk, or token by token in decode steps. */
export interface CacheFill {
  readonly form: "chunk" | "step";
  /** Position of the first token. */
  readonly from: number;
  /** Position after the last token. */
  readonly to: number;
  readonly version: Version;
}

/** One reply of the generator. Its arrays have one entry per sampled token. */
export interface Sampled {
  readonly ids: Int32Array;
  /** Log-probability of each id under the distribution actually sampled from (at its temperature). */
  readonly mu: Float32Array;
  /** The weights version that produced each id. */
  readonly versions: Int32Array;
  /** Entropy of the distribution each id was sampled from, nats. */
  readonly entropies: Float32Array;
  readonly finish: Finish;
  /**
   * Positions of the sequence's cache that were computed since its last reply, in order. A fill that begins before the end of an earlier one
   * replaces it. Absent unless the generator records them (`trainer.replay`).
   */
  readonly fills?: readonly CacheFill[];
}

/** Mean entropy of a reply, nats per token; NaN of one without tokens. */
export const entropyOf = ({ entropies }: Sampled): number =>
  entropies.reduce((sum, entropy) => sum + entropy, 0) / entropies.length;

/** Penalties of a turn by reason; each is below 0, or absent. */
export interface Penalties {
  readonly format?: number;
  readonly step?: number;
  readonly thought_quality?: number;
  readonly thought_length?: number;
  readonly thought_coordinates?: number;
}

/** A range of indices, its end excluded. */
export type Span = readonly [from: number, to: number];

/** One turn: the ids shown before the reply, the reply, and what the environment answered. */
export interface Turn {
  /** Ids of the sequence before this reply: from its start, or the bridge from the previous reply in it. Not trained on. */
  readonly prompt: Int32Array;
  readonly sampled: Sampled;
  /** State text shown in this turn (for people and logs). */
  readonly state: string;
  /** Decoded reply, tags included. */
  readonly reply: string;
  /** True if the parser could read the reply. */
  readonly parsed: boolean;
  /** The sampled ids [from, to) of the thought between its tags; absent where there is none, or it is empty. */
  readonly thought?: Span;
  /** Actions named by the reply, after the per-turn cut; the executed ones are the first `executed`. */
  readonly actions: readonly string[];
  readonly executed: number;
  /** Sum of the environment's rewards of this turn. */
  readonly reward: number;
  /** Penalties of this turn, 0 or negative: for its format, and by the switches of `es_manager`. */
  readonly penalty: number;
  /** The parts of the penalty, where a switch of `es_manager` is on. */
  readonly penalties?: Penalties;
  /** Numeric info of the environment, merged over the executed actions. */
  readonly info: Info;
  /** The agent's call that the turn is; absent of a turn that an environment played. */
  readonly call?: AgentCall;
}

/** The limit that cut an episode. */
export type TruncationReason = "environment" | "max_actions" | "max_turn" | "context";

/** Causes of failures: of a step of an environment, of an agent, of a generator, of a stop. */
export const failureReasons = [
  "step_timeout",
  "step_crashed",
  "step_quarantined",
  "step_error",
  "agent_error",
  "agent_timeout",
  "agent_crashed",
  "agent_aborted",
  "never_opened",
  "generator_crashed",
  "stopped",
] as const;
/** The reason why an episode could not be played to an end. */
export type FailureReason = (typeof failureReasons)[number];

/** The end of an episode. Invariant: it is `Done` only if the environment itself terminated. */
export type Outcome =
  | { readonly _tag: "Done"; readonly success: boolean }
  | { readonly _tag: "Truncated"; readonly reason: TruncationReason; readonly success: boolean }
  | { readonly _tag: "Failed"; readonly reason: FailureReason; readonly message: string };

/** The reason of an end that failed, and a sentence that says more. */
export type Failure = Pick<Extract<Outcome, { readonly _tag: "Failed" }>, "reason" | "message">;

/** An episode's group, and its index there. */
export interface EpisodeId {
  /** Sequence number of the group in its run (and split). */
  readonly group: number;
  /** Index within the group. */
  readonly member: number;
}

/**
 * One chat with the policy: its prompts and replies, end to end, are trained on as one sequence of tokens. The first prompt of a later
 * sequence may repeat earlier turns, replies as the ids that were sampled; repeated ids are not trained on.
 */
export interface Sequence {
  readonly turns: readonly Turn[];
  /** The policy sums up earlier turns for itself, in one reply that plays nothing. Absent of a chat that plays. */
  readonly summary?: { readonly trained: boolean };
}

/** One episode: its turns, exact to the token, and its end. */
export interface Episode {
  readonly id: EpisodeId;
  readonly tag: string;
  /** Instance seed, shared by the group. */
  readonly seed: number;
  /**
   * Token sequences in the order they were played. An episode with its whole history in view has one, and one a turn in the turn-level
   * context modes (`rollout.context`). It has none if its environment could not be reset.
   */
  readonly sequences: readonly Sequence[];
  /**
   * Calls of an agent that were repeated and not gone on from. They are neither trained on nor counted, and their prompts are the ids behind
   * their parents' replies. Absent where there are none.
   */
  readonly discarded?: readonly Turn[];
  readonly outcome: Outcome;
  /** State text after the last turn, as a next turn would show it; absent without a turn, and where a failed step leaves it unknown. */
  readonly final?: string;
}

/** All turns that played, over the episode's sequences. */
export const turnsOf = (episode: Episode): readonly Turn[] =>
  episode.sequences.flatMap(({ summary, turns }) => (summary === undefined ? turns : []));
/** All replies, summaries included: what was generated for the episode. */
export const repliesOf = (episode: Episode): readonly Turn[] => episode.sequences.flatMap(({ turns }) => turns);
/** The sequences that have something to train on: those with a sampled token, summaries only where they are trained. */
export const trainedSequences = (episode: Episode): readonly Sequence[] => episode.sequences.filter(isTrained);
export const isTrained = ({ summary, turns }: Sequence): boolean =>
  summary?.trained !== false && turns.some(({ sampled }) => sampled.ids.length > 0);

/** Largest magnitude of one reward. Squares of scores, summed over a window, stay well within float32's range. */
export const LARGEST_REWARD = 1_000_000_000;

/** True if a value is a reward that can be trained on. */
export const isReward = (value: unknown): value is number =>
  typeof value === "number" && Math.abs(value) <= LARGEST_REWARD;

/** Sum of environment rewards over the turns. */
export const rewardOf = (episode: Episode): number => turnsOf(episode).reduce((sum, turn) => sum + turn.reward, 0);

/** Sum of penalties over the turns, 0 or negative. */
export const penaltyOf = (episode: Episode): number => turnsOf(episode).reduce((sum, turn) => sum + turn.penalty, 0);

/** True if the episode succeeded. A failed episode never does. */
export const succeeded = (episode: Episode): boolean => episode.outcome._tag !== "Failed" && episode.outcome.success;
export const failed = (episode: Episode): boolean => episode.outcome._tag === "Failed";
export const executedActions = (episode: Episode): number =>
  turnsOf(episode).reduce((sum, turn) => sum + turn.executed, 0);
/** Tokens sampled for the episode, summaries included. */
export const sampledTokens = (episode: Episode): number =>
  repliesOf(episode).reduce((sum, turn) => sum + turn.sampled.ids.length, 0);
export const totalTokens = (episode: Episode): number =>
  repliesOf(episode).reduce((sum, turn) => sum + turn.prompt.length + turn.sampled.ids.length, 0);
