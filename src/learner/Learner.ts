/**
 * The learner as the pipeline sees it: a thread that owns actor, critic and both optimisers. Commands run one at a time in the
 * order sent. Each update makes exactly one new weights version and hands it to the generators over their ports.
 */
import { Context, type Effect } from "effect";
import type { CreditedBatch, TokenBatch } from "../domain/Batch.ts";
import type { CrossRequest, CrossScores } from "../domain/CrossScores.ts";
import type { Version } from "../domain/Episode.ts";
import type { LearnerError } from "../domain/Errors.ts";
import type { Metrics } from "../domain/metrics/Metrics.ts";
import type { UntrainedNetwork } from "./NonFinitePart.ts";

/** The tokens of a window, which the learner is sent once. */
export interface WindowTokens {
  /** The groups that are trained on. */
  readonly kept: TokenBatch;
  /** All usable groups, where their gradient is analysed too. */
  readonly unfiltered: TokenBatch | undefined;
}

/** What gradients are analysed of in place of a window: groups that were played for it. Undefined where there are none. */
export interface AnalysedTokens {
  readonly kept: TokenBatch | undefined;
  readonly unfiltered: TokenBatch | undefined;
}

/** The credit of the tokens that were trained on, [tokens] each, for the record and the page. */
export type Credit = Pick<CreditedBatch, "advantages" | "returns" | "values">;

export interface UpdateReport {
  /** Version of the weights after the update; unchanged when the update was skipped. */
  readonly version: Version;
  /** Whether any optimiser step changed anything. */
  readonly applied: boolean;
  /** A network that had something to train and applied no step, and why; the policy where it is both. */
  readonly untrained: UntrainedNetwork | null;
  /** Of the catalogue's `learner`, without its seconds. */
  readonly metrics: Metrics;
  /** Seconds by phase: `timing` of the catalogue's `learner`, and those of credit. */
  readonly seconds: Metrics;
  readonly credit: Credit;
}

/** Threads that share the passes of an update, where their number can change. No bit depends on it. */
export interface LearnerLanes {
  /** All of them, and how many are used at first. */
  readonly most: number;
  /** The commands after this one use `count` of them, 1 to `most`. */
  readonly use: (count: number) => Effect.Effect<void, LearnerError>;
}

export class Learner extends Context.Service<
  Learner,
  {
    /** Assigns credit to a window and trains on it. */
    readonly update: (window: WindowTokens) => Effect.Effect<UpdateReport, LearnerError>;
    /** The decomposition of the policy's gradient under the current weights. Changes nothing. */
    readonly analyse: (tokens: AnalysedTokens) => Effect.Effect<Metrics, LearnerError>;
    /** Scores continuations behind prompts between the commands; a command waits for one pass at most. */
    readonly score: (request: CrossRequest) => Effect.Effect<CrossScores, LearnerError>;
    /** Writes actor, critic, optimiser moments and counters into an existing folder (a temporary one; the caller renames it). */
    readonly save: (folder: string) => Effect.Effect<void, LearnerError>;
    readonly version: Effect.Effect<Version, LearnerError>;
    /** Null where there is one, or none that can be told how many to use. */
    readonly lanes: LearnerLanes | null;
  }
>()("millrace/learner/Learner") {}
