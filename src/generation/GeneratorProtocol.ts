/**
 * The calls and events between the main thread and a generator thread. Weights arrive on a separate port, which `start` transfers.
 * Invariant: everything is structured-cloneable; tokens are ids, and the only text is the stop sequences.
 */
import type { MessagePort } from "node:worker_threads";
import type { Device } from "../domain/Device.ts";
import type { Sampled, Version } from "../domain/Episode.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import type { NumberFormat } from "../model/graphs/NumberFormat.ts";
import type { Base } from "../model/runtime/baseFeeds.ts";
import type { Runtime } from "../model/runtime/Session.ts";
import type { Protocol } from "../model/runtime/ThreadProtocol.ts";
import type { Payload } from "../model/weights/Weights.ts";
import type { VersionPayload } from "./GeneratorLoop.ts";
import type { GenerateRequest, ThreadGauges } from "./Policy.ts";
import type { SchedulerOptions } from "./Scheduler.ts";
import type { TokenBytes } from "./TokenBytes.ts";
import type { VersionRetention } from "./WeightSets.ts";

export interface StartRequest {
  readonly config: DecoderConfig;
  readonly device: Device;
  readonly version: Version;
  readonly payload: Payload;
  /** Versions before this one, ascending, which a resumed run still needs. */
  readonly earlier: readonly VersionPayload[];
  /** Frozen weights under a LoRA adapter, in memory that all threads share. */
  readonly base: Base | undefined;
  /** Number format of the matrices. */
  readonly format: NumberFormat;
  readonly intraOpThreads: number;
  /** True if the runtime packs weights once instead of in every decode step. */
  readonly prepacks: boolean;
  /** Port on which a WeightsMessage arrives and an AdoptedMessage leaves. */
  readonly weights: MessagePort;
  readonly runtime: Runtime;
  readonly slots: number;
  readonly prefillTokens: number;
  readonly prefillRows: number;
  readonly prefillPatience: number;
  readonly refeeding: SchedulerOptions["refeeding"];
  readonly recordsFills: boolean;
  readonly kvOnUpdate: "keep" | "recompute";
  readonly retention: VersionRetention;
  readonly stopIds: readonly number[];
  readonly stops: readonly string[];
  readonly tokens: TokenBytes;
}

export interface GeneratorProtocol extends Protocol {
  readonly calls: {
    readonly start: { readonly request: StartRequest; readonly response: null };
    readonly generate: { readonly request: GenerateRequest; readonly response: Sampled };
    readonly release: { readonly request: number; readonly response: null };
    /** Returns true if the version is now held. */
    readonly hold: { readonly request: Version; readonly response: boolean };
    readonly unhold: { readonly request: Version; readonly response: null };
    readonly gauges: { readonly request: null; readonly response: ThreadGauges };
  };
  readonly events: { readonly _tag: "adopted"; readonly version: Version };
}
