/**
 * Where a run's metrics go. In: the run's description, then step records (all of them, in order), samples and events (some may be
 * missing), then the outcome. Invariant: `open` comes first and `close` last, once each, whatever happens between.
 */
import { type Effect, Schema } from "effect";
import type { Event, StepRecord } from "../domain/Event.ts";
import type { Sample } from "../stage/Bus.ts";

/** What a sink may say of the run as a whole. */
export interface RunInfo {
  readonly name: string;
  /** The run's folder. */
  readonly folder: string;
  /** Admission, in words: `async, max staleness 2`. */
  readonly mode: string;
  readonly seed: number;
  /** Steps done before this start; above 0 after a resume. */
  readonly from: number;
  /** Steps of the whole run. */
  readonly steps: number;
}

export type Outcome =
  | { readonly _tag: "Completed" }
  | { readonly _tag: "Stopped"; readonly reason: string }
  | { readonly _tag: "Failed"; readonly message: string };

/** A sink cannot write. */
export class SinkError extends Schema.TaggedError<SinkError>()("SinkError", {
  sink: Schema.String,
  message: Schema.String,
}) {}

export interface Sink {
  readonly name: string;
  /** Whether the run fails with the sink; otherwise the sink is switched off with one warning. */
  readonly essential: boolean;
  readonly open: (run: RunInfo) => Effect.Effect<void, SinkError>;
  readonly step: (record: StepRecord) => Effect.Effect<void, SinkError>;
  readonly gauges: (sample: Sample) => Effect.Effect<void, SinkError>;
  readonly event: (event: Event) => Effect.Effect<void, SinkError>;
  readonly close: (outcome: Outcome) => Effect.Effect<void, SinkError>;
}
