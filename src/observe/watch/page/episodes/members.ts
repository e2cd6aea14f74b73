/**
 * The episodes of a group as the page shows them. An episode has one record, or one for each token sequence if its prompts did not stay one
 * growing chat.
 */

import type { Outcome } from "../../../../domain/Episode.ts";
import type { EpisodeRecord, TurnRecord, VerdictName } from "../../../../domain/EpisodeRecord.ts";

/** An episode, and its index in the group. */
export interface Member {
  readonly member: number;
  /** The first sequence's record, which describes the whole episode. */
  readonly record: EpisodeRecord;
  readonly sequences: readonly EpisodeRecord[];
}

export const membersOf = (records: readonly EpisodeRecord[]): readonly Member[] =>
  [...Map.groupBy(records, ({ member }) => member)]
    .map(([member, group]) => {
      const sequences = group.toSorted((a, b) => a.sequence - b.sequence);
      return { member, record: sequences[0]!, sequences };
    })
    .toSorted((a, b) => a.member - b.member);

/** Tokens of a reply; 0 if an endpoint did not count them. */
export const countReplyTokens = ({ counted, ids }: TurnRecord): number =>
  counted === undefined ? ids.length : (counted.reply ?? 0);

/** Tokens of all replies of an episode, its summaries included. */
export const countMemberTokens = ({ sequences }: Member): number =>
  sequences.reduce((sum, { turns }) => sum + turns.reduce((all, turn) => all + countReplyTokens(turn), 0), 0);

/** Turns that a token sequence plays. A summary of earlier turns plays none, and neither does a discarded call. */
export const countSequenceTurns = ({ discarded, summary, turns }: EpisodeRecord): number =>
  summary === undefined && discarded === undefined ? turns.length : 0;

export const countMemberTurns = ({ sequences }: Member): number =>
  sequences.reduce((sum, sequence) => sum + countSequenceTurns(sequence), 0);

const cuts: Readonly<Record<string, string>> = {
  environment: "cut by the environment's own limit of steps",
  max_actions: "cut after the most actions of an episode",
  max_turn: "cut after the most turns of an episode",
  context: "cut because the history no longer fits the context",
};

const failures: Readonly<Record<string, string>> = {
  step_timeout: "a step took too long",
  step_crashed: "a step ended its thread",
  step_quarantined: "its instance is set aside after crashes",
  step_error: "a step failed",
  agent_error: "the agent failed, or gave no reward",
  agent_timeout: "the agent took too long",
  agent_crashed: "the agent's thread or process was blocked or ended",
  agent_aborted: "the agent gave it up",
  never_opened: "no program opened it",
  generator_crashed: "a generator thread died more than once while it sampled for the group",
  stopped: "the run was stopped",
};

/** The end of an episode, in words. `player` is who ends one in order. */
export const outcomeText = (outcome: Outcome, player: "agent" | "environment" = "environment"): string => {
  switch (outcome._tag) {
    case "Done":
      return `ended by the ${player}`;
    case "Truncated":
      return cuts[outcome.reason] ?? `cut (${outcome.reason})`;
    case "Failed":
      return `failed: ${failures[outcome.reason] ?? outcome.reason}: ${outcome.message}`;
  }
};

/** The filter's verdict on a group, in words. */
export const verdictText: Readonly<Record<VerdictName, string>> = {
  kept: "trained on",
  zero: "left out: the filter's score of the group is zero, so the update would learn nothing from it",
  rule: "left out: the rule chose other groups",
  surplus: "left out: the window had enough groups before it",
  failed: "left out: fewer than two of its episodes can be used",
};
