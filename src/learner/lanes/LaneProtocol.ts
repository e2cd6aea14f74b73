/**
 * The calls of a lane's thread. A pass over a mini-batch is one `begin`, a `run` for each micro-batch and one `end`; the thread takes
 * calls in the order they are sent.
 */
import type { ParameterSpec } from "../../model/graphs/Architecture.ts";
import type { Base } from "../../model/runtime/baseFeeds.ts";
import type { Runtime } from "../../model/runtime/Session.ts";
import type { LaneModel, MicroInputs, MicroResult } from "./Lane.ts";

/** Parameters as a copy that is handed over. */
export interface TransferredWeights {
  readonly specs: readonly ParameterSpec[];
  readonly flat: Float32Array<ArrayBuffer>;
}

export interface LaneProtocol {
  readonly calls: {
    /** `threads`: intra-op threads of the lane's sessions, the same in every call. The response is the model's number. */
    readonly open: {
      readonly request: { readonly model: LaneModel; readonly threads: number; readonly runtime: Runtime };
      readonly response: number;
    };
    /** The model and the weights of the runs that follow, frozen ones beside those of the pass. */
    readonly begin: {
      readonly request: {
        readonly model: number;
        readonly weights: TransferredWeights;
        /** Frozen weights in shared memory, beside an adapter. */
        readonly base: Base | undefined;
      };
      readonly response: null;
    };
    readonly run: {
      readonly request: MicroInputs;
      readonly response: MicroResult;
    };
    /** Lets go of the weights. */
    readonly end: { readonly request: null; readonly response: null };
  };
  readonly events: never;
}
