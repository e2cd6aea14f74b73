/**
 * Makes a sink from plain functions, without Effect. All but the name may be left out; an exception of a function is its failure.
 */
import { Effect } from "effect";
import type { EpisodeRecord } from "../../domain/EpisodeRecord.ts";
import type { Event, StepRecord } from "../../domain/Event.ts";
import type { Sample } from "../../flow/Bus.ts";
import { type Outcome, type RunInfo, type Sink, SinkError } from "./Sink.ts";

type Call<A> = (value: A) => Promise<void> | void;

export interface PlainSink extends Pick<Sink, "name" | "feeding"> {
  /** False by default: the run goes on without the sink. */
  readonly essential?: boolean;
  readonly open?: Call<RunInfo>;
  readonly step?: Call<StepRecord>;
  readonly gauges?: Call<Sample>;
  readonly event?: Call<Event>;
  readonly episodes?: Call<readonly EpisodeRecord[]>;
  readonly close?: Call<Outcome>;
}

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
