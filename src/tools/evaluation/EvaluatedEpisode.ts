/**
 * A finished episode of an evaluation, whoever played it: the chat as texts, and the results of its turns. It holds no token ids, so that
 * episodes of a checkpoint and of an endpoint are the same kind of thing. Invariant: the assistant's messages and the turns are one to one,
 * in order.
 */
import type { Outcome, Turn } from "../../domain/Episode.ts";
import type { Prompt } from "../../domain/Group.ts";

export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** Why a reply ended: by itself, at its token limit, or because a filter of the endpoint kept it back. */
export type ReplyEnd = "stop" | "length" | "filtered";

/** Facts about a reply besides its text. */
export interface Replied {
  readonly finish: ReplyEnd;
  /** Tokens of the chat before the reply, and of the reply; null where the endpoint did not say. */
  readonly promptTokens: number | null;
  readonly tokens: number | null;
  /** Mean entropy of the reply's tokens, nats; null where it is not known. */
  readonly entropy: number | null;
  /**
   * Index of the episode's token sequence that holds the reply. An episode with its whole history in view has only 0 (`rollout.context`).
   */
  readonly sequence: number;
}

export interface EvaluatedTurn
  extends Replied,
    Pick<Turn, "actions" | "executed" | "reward" | "penalty" | "penalties" | "parsed" | "info" | "call"> {
  /** State text shown in this turn; empty where it is not recorded. */
  readonly state: string;
  /**
   * The messages that an endpoint was shown, where they are not those of the episode before the reply. Absent of a checkpoint: its ids are in
   * the trajectories.
   */
  readonly shown?: readonly Message[];
}

/** A summary of earlier turns that the player wrote for itself (`rollout.summary: policy`). */
export interface EvaluatedSummary extends Replied {
  /** The user message that asked for it, behind the system message of the episode. */
  readonly asked: string;
  readonly text: string;
}

export interface EvaluatedEpisode extends Pick<Prompt, "group" | "tag" | "seed"> {
  readonly member: number;
  /** Content key of the instance. */
  readonly contentKey: string;
  readonly outcome: Exclude<Outcome, { readonly _tag: "Failed" }>;
  /** The episode as one chat, as the full context shows it. */
  readonly messages: readonly Message[];
  readonly turns: readonly EvaluatedTurn[];
  readonly summaries: readonly EvaluatedSummary[];
  /** State text after the last turn. */
  readonly final: string;
}

/** An episode of the plan: what it is, before it is played. */
export type EpisodeKey = Pick<EvaluatedEpisode, "group" | "tag" | "seed" | "member">;

/** Equal for two episodes of one instance and member, in whichever evaluation. */
export const keyOf = ({ member, seed, tag }: Pick<EvaluatedEpisode, "tag" | "seed" | "member">): string =>
  JSON.stringify([tag, seed, member]);

const summed = (episode: EvaluatedEpisode, part: (turn: EvaluatedTurn) => number): number =>
  episode.turns.reduce((sum, turn) => sum + part(turn), 0);

/** Rewards of the environment, without format penalties. */
export const rewardOf = (episode: EvaluatedEpisode): number => summed(episode, ({ reward }) => reward);
export const penaltyOf = (episode: EvaluatedEpisode): number => summed(episode, ({ penalty }) => penalty);
/** Rewards and format penalties. */
export const returnOf = (episode: EvaluatedEpisode): number => rewardOf(episode) + penaltyOf(episode);
export const actionsOf = (episode: EvaluatedEpisode): number => summed(episode, ({ executed }) => executed);

/** All replies, summaries included: what was generated for the episode. */
export const repliesOf = ({ summaries, turns }: EvaluatedEpisode): readonly Replied[] => [...turns, ...summaries];
export const promptTokensOf = (episode: EvaluatedEpisode): number =>
  repliesOf(episode).reduce((sum, { promptTokens }) => sum + (promptTokens ?? 0), 0);
export const tokensOf = (episode: EvaluatedEpisode): number =>
  repliesOf(episode).reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);

/** A chat of the episode: its turns, or the one summary that was written in it. */
export type EvaluatedSequence =
  | { readonly _tag: "Played"; readonly turns: readonly EvaluatedTurn[] }
  | { readonly _tag: "Summary"; readonly summary: EvaluatedSummary };

/** The episode's token sequences, in the order they were begun; one without turns where none was played. */
export const sequencesOf = ({ summaries, turns }: EvaluatedEpisode): readonly EvaluatedSequence[] => {
  const playedSequences = [...Map.groupBy(turns, ({ sequence }) => sequence)].map(
    ([sequence, sequenceTurns]): readonly [number, EvaluatedSequence] => [
      sequence,
      { _tag: "Played", turns: sequenceTurns },
    ],
  );
  const summarySequences = summaries.map((summary): readonly [number, EvaluatedSequence] => [
    summary.sequence,
    { _tag: "Summary", summary },
  ]);
  const sequences = [...playedSequences, ...summarySequences].sort(([a], [b]) => a - b).map(([, sequence]) => sequence);
  return sequences.length === 0 ? [{ _tag: "Played", turns: [] }] : sequences;
};
