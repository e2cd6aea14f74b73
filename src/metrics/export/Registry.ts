/**
 * The newest series of a run in a registry of Effect's metrics, which its exporters read. Invariant: it holds what was told last and nothing
 * older, so that a metric which was not measured in the newest step is absent.
 */
import { Context, Metric } from "effect";
import type { StepRecord } from "../../domain/Event.ts";
import type { Sample } from "../../stage/Bus.ts";
import type { RunInfo } from "../Sink.ts";
import * as Series from "./Series.ts";

export interface Registry {
  /** What exporters read. */
  readonly context: Context.Context<never>;
  readonly run: (run: RunInfo) => void;
  readonly step: (record: StepRecord) => void;
  readonly sample: (sample: Sample) => void;
}

/** The unit is an attribute, because exporters look for it there. */
const put = (
  context: Context.Context<never>,
  name: string,
  { help, kind, labels, unit, value }: Series.Series,
): void => {
  const options = { description: help, attributes: { ...labels, unit } };
  const metric =
    kind === "counter" ? Metric.counter(name, { ...options, incremental: true }) : Metric.gauge(name, options);
  metric.updateUnsafe(value, context);
};

/** Series go by the name that `nameOf` gives them. */
export const make = (nameOf: (series: Series.Series) => string): Registry => {
  const metrics: typeof Metric.MetricRegistry.Service = new Map();
  const context = Context.make(Metric.MetricRegistry, metrics);
  let run: readonly Series.Series[] = [];
  let step: readonly Series.Series[] = [];
  let live: readonly Series.Series[] = [];
  const refill = (): void => {
    metrics.clear();
    for (const series of [...run, ...step, ...live]) put(context, nameOf(series), series);
  };
  return {
    context,
    run: (info) => {
      run = Series.ofRun(info);
      refill();
    },
    step: (record) => {
      step = Series.ofStep(record);
      refill();
    },
    sample: (sample) => {
      live = Series.ofSample(sample);
      refill();
    },
  };
};
