/**
 * A receiver of a run's metrics. It gets the run, then step records, samples and events in their order, then the outcome. A sink
 * that is slower than the run may miss some. Invariant: each time that the run is opened, `open` comes first and `close` last, once each.
 */
import { type Effect, Schedule, Schema } from "effect";
import type { Alarm } from "../../domain/alarms/Alarms.ts";
import type { EpisodeRecord } from "../../domain/EpisodeRecord.ts";
import type { Event, StepRecord } from "../../domain/Event.ts";
import type { RunOutcome } from "../../domain/RunOutcome.ts";
import type { Sample } from "../../flow/Bus.ts";

/** The run as a whole, as sinks describe it. */
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
  /** The groups of a window, the episodes of each, and the order by which groups form a window. */
  readonly window: {
    readonly groups: number;
    readonly groupSize: number;
    readonly order: "admission" | "completion";
  };
  /** Milliseconds since the Unix epoch at this start. */
  readonly started: number;
  /** Active alarms at this start; only a resumed run has any. */
  readonly alarms: readonly Alarm[];
  /** The resolved run file, as plain data; it holds no secrets. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** One update of a console. */
export type Update =
  | { readonly _tag: "Step"; readonly record: StepRecord }
  | { readonly _tag: "Sample"; readonly sample: Sample }
  | { readonly _tag: "Event"; readonly event: Event }
  | { readonly _tag: "Close"; readonly outcome: RunOutcome };

/** A sink cannot write. */
export class SinkError extends Schema.TaggedError<SinkError>()("SinkError", {
  sink: Schema.String,
  message: Schema.String,
}) {}

/** The limits under which a sink gets its messages. */
export interface Feeding {
  /** Messages that may wait for the sink. */
  readonly capacity: number;
  /** The retry of a failed call. */
  readonly retry: Schedule.Schedule<unknown, SinkError>;
  /** Milliseconds for writing the waiting messages and closing, after the run has ended. */
  readonly closeMs: number;
}

/** The retry of a sink whose calls are made only once. */
export const once: Feeding["retry"] = Schedule.recurs(0);

/** Receives a run's metrics: the run first, then steps, samples, events and episodes in their order, and the outcome last. */
export interface Sink {
  readonly name: string;
  /**
   * An essential sink gets every record: the run waits for its writes, and fails with it. Any other sink loses the oldest
   * messages when it falls behind, and is switched off with one warning when it fails.
   */
  readonly essential: boolean;
  /** The values that differ from the default. */
  readonly feeding?: Partial<Feeding>;
  readonly open: (run: RunInfo) => Effect.Effect<void, SinkError>;
  readonly step: (record: StepRecord) => Effect.Effect<void, SinkError>;
  /** Absent for a sink that shows no gauges. */
  readonly gauges?: (sample: Sample) => Effect.Effect<void, SinkError>;
  /** Absent for a sink that shows no events. */
  readonly event?: (event: Event) => Effect.Effect<void, SinkError>;
  /** Takes the sampled episodes of one step, in whole groups. Absent for a sink that shows none. */
  readonly episodes?: (records: readonly EpisodeRecord[]) => Effect.Effect<void, SinkError>;
  readonly close: (outcome: RunOutcome) => Effect.Effect<void, SinkError>;
}
