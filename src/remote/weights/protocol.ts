/** The calls and events of the thread that writes versions of the weights to disk. `start` comes first and once. */
import type { MessagePort } from "node:worker_threads";
import type { Version } from "../../domain/Episode.ts";
import type { Base } from "../../model/runtime/baseFeeds.ts";
import type { Protocol } from "../../model/runtime/ThreadProtocol.ts";
import type { Probe } from "./Prober.ts";
import type { Layout, ModelFiles } from "./VersionFolder.ts";

export interface StartRequest {
  readonly directory: string;
  readonly files: ModelFiles;
  readonly layout: Layout;
  readonly version: Version;
  /** The weights of `version`: every trained parameter in specification order. */
  readonly flat: Float32Array<ArrayBuffer>;
  /** Where WeightsMessage come in and AdoptedMessage go out. */
  readonly weights: MessagePort;
  /** What every version is asked about; null asks nothing. */
  readonly probe: Probe | null;
  /** What the trained parameters stand beside, where they are an adapter's; for the probe alone. */
  readonly beside: Base | undefined;
}

export interface PublisherProtocol extends Protocol {
  readonly calls: {
    readonly start: { readonly request: StartRequest; readonly response: null };
    readonly remove: { readonly request: Version; readonly response: null };
  };
  readonly events: /** `scores` as `Prober` gives them; null without a probe. */
    | { readonly _tag: "written"; readonly version: Version; readonly scores: Float32Array | null }
    | { readonly _tag: "failed"; readonly message: string };
}
