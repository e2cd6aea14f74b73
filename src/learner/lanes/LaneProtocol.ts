/**
 * The calls of a lane's thread. A pass over a mini-batch is one `begin`, a `run` for each micro-batch and one `end`; the thread handles
 * calls in the order sent.
 */
import type { ParameterSpec } from "../../model/graphs/Architecture.ts";
import type { Base } from "../../model/runtime/baseFeeds.ts";
import type { Runtime } from "../../model/runtime/Session.ts";
import type { LaneModel, MicroInputs, MicroResult } from "./Lane.ts";

/** A copy of the trained parameters, transferred to the lane. */
export interface TransferredWeights {
  readonly specs: readonly ParameterSpec[];
  readonly flat: Float32Array<ArrayBuffer>;
}

export interface LaneProtocol {
  readonly calls: {
    /** Opens a model and returns its number. `threads` are the intra-op threads of the lane's sessions, the same in every call. */
    readonly open: {
      readonly request: { readonly model: LaneModel; readonly threads: number; readonly runtime: Runtime };
      readonly response: number;
    };
    /** Sets the model and the weights of the runs that follow. */
    readonly begin: {
      readonly request: {
        readonly model: number;
        readonly weights: TransferredWeights;
        /** Frozen weights under an adapter, in shared memory. */
        readonly base: Base | undefined;
      };
      readonly response: null;
    };
    readonly run: {
      readonly request: MicroInputs;
      readonly response: MicroResult;
    };
    /** Releases the weights of the pass. */
    readonly end: { readonly request: null; readonly response: null };
  };
  readonly events: never;
}
