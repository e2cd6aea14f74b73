/** The calls and events of the thread that writes versions of the weights to disk. `start` is the first call. */
import type { MessagePort } from "node:worker_threads";
import type { Version } from "../../domain/Episode.ts";
import type { Base } from "../../model/runtime/baseFeeds.ts";
import type { Protocol } from "../../model/runtime/ThreadProtocol.ts";
import type { Probe } from "./Prober.ts";
import type { ModelFiles, ModelLayout } from "./VersionFolder.ts";

export interface StartRequest {
  readonly directory: string;
  readonly files: ModelFiles;
  readonly layout: ModelLayout;
  readonly version: Version;
  /** The weights of `version`: every trained parameter in specification order. */
  readonly flat: Float32Array<ArrayBuffer>;
  /** The learner's end: WeightsMessage in, AdoptedMessage out. */
  readonly weights: MessagePort;
  /** Text that every version is scored on; null scores nothing. */
  readonly probe: Probe | null;
  /** Frozen weights under an adapter, for the probe alone; absent when the whole model is trained. */
  readonly base: Base | undefined;
}

export interface PublisherProtocol extends Protocol {
  readonly calls: {
    readonly start: { readonly request: StartRequest; readonly response: null };
    readonly remove: { readonly request: Version; readonly response: null };
  };
  readonly events: /** `scores` are the probe's, as `Prober` returns them; null without a probe. */
    | { readonly _tag: "written"; readonly version: Version; readonly scores: Float32Array | null }
    | { readonly _tag: "failed"; readonly message: string };
}
