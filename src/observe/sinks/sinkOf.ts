/**
 * Makes a sink from plain functions, without Effect. All but the name may be left out; an exception of a function is its failure.
 */
import { Effect } from "effect";
import type { EpisodeRecord } from "../../domain/EpisodeRecord.ts";
import type { Event, StepRecord } from "../../domain/Event.ts";
import type { RunOutcome } from "../../domain/RunOutcome.ts";
import type { Sample } from "../../flow/Bus.ts";
import { type RunInfo, type Sink, SinkError } from "./Sink.ts";

/** A function of a sink; it may be asynchronous. */
type Call<A> = (value: A) => Promise<void> | void;

/** A sink as plain functions; all but the name may be left out. `Sink` says when each is called. */
export interface PlainSink extends Pick<Sink, "name" | "feeding"> {
  /** False by default: the run goes on without the sink. */
  readonly essential?: boolean;
  readonly open?: Call<RunInfo>;
  readonly step?: Call<StepRecord>;
  readonly gauges?: Call<Sample>;
  readonly event?: Call<Event>;
  readonly episodes?: Call<readonly EpisodeRecord[]>;
  readonly close?: Call<RunOutcome>;
}

/** Makes a sink from plain functions, without Effect. If one throws or rejects, the sink has failed. */
export const sinkOf = ({ close, episodes, essential = false, event, gauges, open, step, ...rest }: PlainSink): Sink => {
  const lifted =
    <A>(call: Call<A> | undefined) =>
    (value: A): Effect.Effect<void, SinkError> =>
      call === undefined
        ? Effect.void
        : Effect.tryPromise({
            try: async () => call(value),
            catch: (cause) =>
              new SinkError({ sink: rest.name, message: cause instanceof Error ? cause.message : String(cause) }),
          });
  return {
    ...rest,
    essential,
    open: lifted(open),
    step: lifted(step),
    ...(gauges === undefined ? {} : { gauges: lifted(gauges) }),
    ...(event === undefined ? {} : { event: lifted(event) }),
    ...(episodes === undefined ? {} : { episodes: lifted(episodes) }),
    close: lifted(close),
  };
};
