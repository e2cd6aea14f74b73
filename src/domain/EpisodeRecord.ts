/**
 * A sampled episode as it is recorded: a line of trajectories.jsonl for each token sequence, with what the filter and the credit made of it.
 * What sinks, the page and reports show of an episode is this. Arrays over tokens have one entry for each sampled token of the turn; they are
 * empty where an endpoint played, which tells no tokens.
 */
import type { AgentCall } from "./AgentCall.ts";
import type { Finish, Outcome, Penalties, Span, Version } from "./Episode.ts";
import type { Info } from "./Info.ts";

/** Version of the records' shape. */
export const SCHEMA = 4;
/** Versions that can be read. Records of version 3 have no calls of agents. */
export const readableSchemas: readonly unknown[] = [3, SCHEMA];

/**
 * The filter's verdict on the group; `zero`: its score is zero, and such groups are left out; `rule`: the rule did not select it; `surplus`:
 * its window had enough others.
 */
export type VerdictName = "kept" | "zero" | "rule" | "surplus" | "failed";

/** A state as the policy was shown it, or its reply. */
export interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** A message as an endpoint was sent it. */
export interface SentMessage {
  readonly role: "system" | Message["role"];
  readonly content: string;
}

/** A turn of a sampled episode. Arrays over tokens have one entry for each sampled token; they are empty if an endpoint played. */
export interface TurnRecord {
  /**
   * Ids shown before the reply: all of them from the start of the token sequence, or the bridge from the reply before in it. Of a discarded
   * call, the ids behind its parent's reply.
   */
  readonly prompt_ids: readonly number[];
  readonly ids: readonly number[];
  /** The text of each id; joined, the reply. A character of several tokens is the last one's. */
  readonly pieces: readonly string[];
  /** Log-probability under the distribution sampled from. */
  readonly mu: readonly number[];
  /** Entropy of that distribution, nats. */
  readonly entropies: readonly number[];
  readonly versions: readonly Version[];
  /** Advantages of the update; absent where the group was not trained on. */
  readonly advantages?: readonly number[];
  /** The critic's at consumption; absent without a critic, and where the group was not trained on. */
  readonly values?: readonly number[];
  /** Messages that an endpoint was sent, in place of `prompt_ids`; absent if the policy is this run's own. */
  readonly prompt?: readonly SentMessage[];
  /** Tokens as an endpoint counted them, of the whole prompt and of the reply; null where it did not. Absent of a policy of our own. */
  readonly counted?: { readonly prompt: number | null; readonly reply: number | null };
  /** `filtered`: a filter of the endpoint kept the reply back. */
  readonly finish: Finish | "filtered";
  readonly parsed: boolean;
  /** The ids [from, to) of the thought; absent where there is none. */
  readonly thought?: Span;
  readonly actions: readonly string[];
  /** The number of actions that were carried out. */
  readonly executed: number;
  readonly reward: number;
  readonly penalty: number;
  /** The parts of the penalty, where a switch of `es_manager` other than the format penalty took its part. */
  readonly penalties?: Penalties;
  readonly info: Info;
  /** The agent's call that the turn is; absent where an environment played. */
  readonly call?: AgentCall;
}

/** One token sequence of a sampled episode, as a line of `trajectories.jsonl` has it. */
export interface EpisodeRecord {
  readonly schema: typeof SCHEMA;
  readonly step: number;
  readonly split: "train" | "val";
  readonly group: number;
  readonly member: number;
  /** Index of this token sequence in its episode. */
  readonly sequence: number;
  /** The sequence is the policy's summary of earlier turns: its one reply is no turn. */
  readonly summary?: true;
  /** The sequence is an agent's call that was repeated and not gone on from: it is not trained on, and its one reply is no turn. */
  readonly discarded?: true;
  readonly tag: string;
  readonly seed: number;
  /** Success, reward, penalty and outcome are the whole episode's. */
  readonly success: boolean;
  readonly reward: number;
  readonly penalty: number;
  readonly outcome: Outcome;
  /** Absent for validation, which is not filtered. */
  readonly verdict?: VerdictName;
  /** The group's score that the filter ranked; absent for validation and failed groups. */
  readonly groupScore?: number;
  /** The episode's reward as the update sees it: with the penalty, normalised. Absent for validation and failed groups. */
  readonly score?: number;
  /** State and reply of each turn, in order. */
  readonly messages: readonly Message[];
  readonly turns: readonly TurnRecord[];
  /**
   * State after the episode's last turn, written as those of the messages: on the record of its last token sequence. Absent where no turn
   * was played or a step failed.
   */
  readonly final?: string;
}

/** Turns that a token sequence plays. A summary and a discarded call play none. */
export const countTurns = ({ discarded, summary, turns }: EpisodeRecord): number =>
  summary === undefined && discarded === undefined ? turns.length : 0;
