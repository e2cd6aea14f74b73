/**
 * The learner as the pipeline sees it: a thread that owns policy, critic and both optimisers. Commands run one at a time in the order sent.
 * An update that changes the policy makes one version and sends it to the generators over their ports.
 */
import { Context, type Effect } from "effect";
import type { CreditedBatch, TokenBatch } from "../domain/Batch.ts";
import type { CrossRequest, CrossScores } from "../domain/CrossScores.ts";
import type { Version } from "../domain/Episode.ts";
import type { LearnerError } from "../domain/Errors.ts";
import type { Metrics } from "../domain/metrics/Metrics.ts";
import type { UntrainedNetwork } from "./NonFinitePart.ts";

/** Tokens of a window. The learner is sent them once. */
export interface WindowTokens {
  /** Tokens of the groups that are trained on. */
  readonly kept: TokenBatch;
  /** Tokens of all usable groups, present if their gradient is analysed too. */
  readonly unfiltered: TokenBatch | undefined;
}

/** Tokens of groups that were played for a gradient analysis and are never trained on. A part without tokens is undefined. */
export interface AnalysedTokens {
  readonly kept: TokenBatch | undefined;
  readonly unfiltered: TokenBatch | undefined;
}

/** Credit of the tokens that were trained on, [tokens] each, for trajectories and the page. */
export type Credit = Pick<CreditedBatch, "advantages" | "returns" | "values">;

/** The result of an update. */
export interface UpdateReport {
  /** Version of the weights after the update. A skipped update leaves it unchanged. */
  readonly version: Version;
  /** True if an optimiser step changed policy or critic. */
  readonly applied: boolean;
  /** Names a network that had tokens to train on but applied no step; the policy if it was both. */
  readonly untrained: UntrainedNetwork | null;
  /** Metrics of the catalogue's `learner`, except its times. */
  readonly metrics: Metrics;
  /** CRC-32 of the policy's trained parameters after the update, if the learner computes it. */
  readonly checksum?: number;
  /** Seconds by phase of credit and update. */
  readonly seconds: Metrics;
  readonly credit: Credit;
}

/** Threads that share the passes of an update, when there is more than one. Their number changes no bit of the result. */
export interface LearnerLanes {
  /** Number of lanes; a run starts with all of them in use. */
  readonly most: number;
  /** Makes later commands use `count` lanes, 1 to `most`. */
  readonly use: (count: number) => Effect.Effect<void, LearnerError>;
}

export class Learner extends Context.Service<
  Learner,
  {
    /** Assigns credit to a window and trains on it. */
    readonly update: (window: WindowTokens) => Effect.Effect<UpdateReport, LearnerError>;
    /** Decomposes the policy's gradient under the current weights. Changes nothing. */
    readonly analyse: (tokens: AnalysedTokens) => Effect.Effect<Metrics, LearnerError>;
    /** Scores continuations after prompts between the commands. A command waits for one pass at most. */
    readonly score: (request: CrossRequest) => Effect.Effect<CrossScores, LearnerError>;
    /**
     * Writes policy, critic, optimiser moments and counters into an existing folder. The caller passes a temporary folder and renames it.
     */
    readonly save: (folder: string) => Effect.Effect<void, LearnerError>;
    readonly version: Effect.Effect<Version, LearnerError>;
    /** Null for a learner with one lane, or one whose number of lanes cannot change. */
    readonly lanes: LearnerLanes | null;
  }
>()("millrace/learner/Learner") {}
