/**
 * The calls of a learner's thread. `start` comes first and once; the others run one at a time in the order sent. The request of `start`
 * depends on where the networks compute.
 */
import type { MessagePort } from "node:worker_threads";
import type { TokenBatch } from "../domain/Batch.ts";
import type { CrossRequest, CrossScores } from "../domain/CrossScores.ts";
import type { Version } from "../domain/Episode.ts";
import type { Metrics } from "../domain/metrics/Metrics.ts";
import type { Checkpoint } from "../model/checkpoint/HuggingFaceFolder.ts";
import type { CloningReport } from "./CloningUpdate.ts";
import type { AnalysedTokens, UpdateReport, WindowTokens } from "./Learner.ts";
import type { TrainerOptions } from "./TrainerOptions.ts";

/** Starts a learner that computes in its own thread. */
export interface StartRequest {
  /** Starting weights, with the other files of their checkpoint folder. */
  readonly checkpoint: Checkpoint;
  readonly options: TrainerOptions;
  /** Folder written by `save` from which training resumes, or null. */
  readonly restore: string | null;
  /** One port per generator thread, transferred; new weights are sent on them. */
  readonly ports: readonly MessagePort[];
  /** Windows of a fixed lag; null without one. With it each version reaches the generators, and checkpoints hold earlier ones. */
  readonly lag: number | null;
  /** True if each version reaches the generators without a fixed lag, too. */
  readonly sendsEach: boolean;
}

export interface LearnerProtocol<Start = StartRequest, Event = never> {
  readonly calls: {
    readonly start: { readonly request: Start; readonly response: Version };
    readonly update: { readonly request: WindowTokens; readonly response: UpdateReport };
    readonly analyse: { readonly request: AnalysedTokens; readonly response: Metrics };
    readonly clone: {
      readonly request: { readonly batch: TokenBatch; readonly lr: number };
      readonly response: CloningReport;
    };
    readonly cloningLoss: { readonly request: TokenBatch; readonly response: number | null };
    /** Runs its passes between the calls that arrive meanwhile. */
    readonly score: { readonly request: CrossRequest; readonly response: CrossScores };
    /** Sets the number of lanes that later commands use. */
    readonly lanes: { readonly request: number; readonly response: null };
    readonly save: { readonly request: string; readonly response: null };
    readonly version: { readonly request: null; readonly response: Version };
  };
  readonly events: Event;
}
