/**
 * The trace of a run for Perfetto: a tracer that sees the run's spans, and a sink that adds events and counters and writes the
 * file. The tracer only collects; the sink's fiber writes. Invariant: neither holds up the run, and memory and file are bounded.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Cause, Clock, Effect, Exit, Tracer } from "effect";
import { once, type Sink, SinkError } from "../Sink.ts";
import { observeSpans } from "./observeSpans.ts";
import { TraceChart } from "./TraceChart.ts";
import { TraceFile } from "./TraceFile.ts";
import * as Tracks from "./Tracks.ts";

const name = "trace.json";

export interface TraceOptions {
  /** Bytes of the file at most; 256 MiB by default. */
  readonly limit?: number;
}

export interface Trace {
  /** A tracer to provide around the run. Its spans are those of `inner`, which may export them too. */
  readonly tracer: (inner?: Tracer.Tracer) => Tracer.Tracer;
  /** A sink of the run. */
  readonly sink: Sink;
}

/** A file of its own for each start of the run: `trace.json`, `trace-2.json`, … */
const freePath = (folder: string): string => {
  for (let start = 1; ; start++) {
    const path = join(folder, start === 1 ? "trace.json" : `trace-${start}.json`);
    if (!existsSync(path)) return path;
  }
};

const problemOf = (exit: Exit.Exit<unknown, unknown>): string | null => {
  if (Exit.isSuccess(exit)) return null;
  if (Cause.hasInterruptsOnly(exit.cause)) return "interrupted";
  const error = Cause.squash(exit.cause);
  return error instanceof Error ? error.message : String(error);
};

const sinkError = (cause: unknown): SinkError =>
  new SinkError({ sink: name, message: `cannot write: ${cause instanceof Error ? cause.message : cause}` });

const sinkOf = (chart: TraceChart, file: TraceFile): Sink => {
  const attempt = (run: () => Promise<void>): Effect.Effect<void, SinkError> =>
    Effect.tapError(Effect.tryPromise({ try: run, catch: sinkError }), () => Effect.sync(() => file.abandon()));
  const add = (entriesAt: (now: bigint) => readonly string[]): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeNanos, (now) => file.add(entriesAt(now)));
  return {
    name,
    essential: false,
    // A second try would write entries twice.
    feeding: { retry: once },
    open: (run) => attempt(() => file.open(freePath(run.folder))),
    step: (record) =>
      Effect.andThen(
        Effect.sync(() => file.add(chart.step(record))),
        attempt(() => file.flush()),
      ),
    gauges: (sample) =>
      Effect.andThen(
        add((now) => chart.sample(sample, now)),
        attempt(() => file.flush()),
      ),
    event: (event) =>
      Effect.andThen(
        add((now) => chart.event(event, now)),
        attempt(() => file.flushFull()),
      ),
    close: () => attempt(() => file.close()),
  };
};

export const make = ({ limit }: TraceOptions = {}): Trace => {
  const chart = new TraceChart();
  let newest = 0n;
  const file = new TraceFile({
    ...(limit === undefined ? {} : { limit }),
    mark: (text) => chart.mark(text, newest),
  });
  file.add(Tracks.opening);
  return {
    tracer: (inner = Tracer.nativeTracer) =>
      observeSpans(inner, (name, start) => {
        const begun = chart.begin(name, start);
        return (span, end, exit) => {
          newest = end;
          if (!file.full) file.add(chart.end(begun, end, span.attributes, problemOf(exit)));
        };
      }),
    sink: sinkOf(chart, file),
  };
};
