/**
 * A finished episode of an evaluation, whoever played it: the chat as texts, and what each turn came to. It holds no token ids, so that episodes
 * of a checkpoint and of an endpoint are the same kind of thing. Invariant: the assistant's messages and the turns are one to one, in order.
 */
import type { Outcome, Turn } from "../domain/Episode.ts";
import type { Prompt } from "../domain/Group.ts";

export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** Why a reply ended: by itself, at its token limit, or because a filter of the endpoint kept it back. */
export type ReplyEnd = "stop" | "length" | "filtered";

export interface EvaluatedTurn extends Pick<Turn, "actions" | "executed" | "reward" | "penalty" | "parsed" | "info"> {
  readonly finish: ReplyEnd;
  /** Tokens of the chat before the reply, and of the reply; null where the endpoint did not say. */
  readonly promptTokens: number | null;
  readonly tokens: number | null;
  /** Mean entropy of the reply's tokens, nats; null where it is not known. */
  readonly entropy: number | null;
}

export interface EvaluatedEpisode extends Pick<Prompt, "group" | "tag" | "seed"> {
  readonly member: number;
  /** Content key of the instance. */
  readonly contentKey: string;
  readonly outcome: Exclude<Outcome, { readonly _tag: "Failed" }>;
  readonly messages: readonly Message[];
  readonly turns: readonly EvaluatedTurn[];
  /** State text after the last turn. */
  readonly final: string;
}

/** An episode of the plan: what it is, before it is played. */
export type EpisodeKey = Pick<EvaluatedEpisode, "group" | "tag" | "seed" | "member">;

/** Equal for two episodes of one instance and member, in whichever evaluation. */
export const keyOf = ({ member, seed, tag }: Pick<EvaluatedEpisode, "tag" | "seed" | "member">): string =>
  JSON.stringify([tag, seed, member]);

const summed = (episode: EvaluatedEpisode, of: (turn: EvaluatedTurn) => number): number =>
  episode.turns.reduce((sum, turn) => sum + of(turn), 0);

/** Rewards of the environment, without format penalties. */
export const rewardOf = (episode: EvaluatedEpisode): number => summed(episode, ({ reward }) => reward);
export const penaltyOf = (episode: EvaluatedEpisode): number => summed(episode, ({ penalty }) => penalty);
/** Rewards and format penalties. */
export const returnOf = (episode: EvaluatedEpisode): number => rewardOf(episode) + penaltyOf(episode);
export const actionsOf = (episode: EvaluatedEpisode): number => summed(episode, ({ executed }) => executed);
export const promptTokensOf = (episode: EvaluatedEpisode): number =>
  summed(episode, ({ promptTokens }) => promptTokens ?? 0);
export const tokensOf = (episode: EvaluatedEpisode): number => summed(episode, ({ tokens }) => tokens ?? 0);
