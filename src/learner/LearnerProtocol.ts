/**
 * The calls of a learner's thread. `start` comes first and once; the others run one at a time in the order sent. What `start` is given depends
 * on where the networks compute.
 */
import type { MessagePort } from "node:worker_threads";
import type { TokenBatch } from "../domain/Batch.ts";
import type { CrossRequest, CrossScores } from "../domain/CrossScores.ts";
import type { Version } from "../domain/Episode.ts";
import type { Metrics } from "../domain/metrics/Metrics.ts";
import type { Checkpoint } from "../model/checkpoint/HuggingFaceFolder.ts";
import type { CloningReport } from "./CloningUpdate.ts";
import type { AnalysedTokens, UpdateReport, WindowTokens } from "./Learner.ts";
import type { TrainerOptions } from "./TrainerState.ts";

/** Of a learner that computes in its thread. */
export interface StartRequest {
  /** The starting weights, and what a checkpoint's folder holds beside them. */
  readonly checkpoint: Checkpoint;
  readonly options: TrainerOptions;
  /** Folder written by `save` to go on from, or null. */
  readonly restore: string | null;
  /** One port per generator thread, transferred; new weights go out on them. */
  readonly ports: readonly MessagePort[];
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
    /** Its passes run between the calls that come meanwhile. */
    readonly score: { readonly request: CrossRequest; readonly response: CrossScores };
    /** How many lanes the commands after it use. */
    readonly lanes: { readonly request: number; readonly response: null };
    readonly save: { readonly request: string; readonly response: null };
    readonly version: { readonly request: null; readonly response: Version };
  };
  readonly events: Event;
}
