/**
 * The newest series of a run in a registry of Effect's metrics, which its exporters read. Invariants: it holds only the newest
 * values, so that a metric which the newest step did not measure is absent. Without readers it costs nothing.
 */
import { Context, Metric } from "effect";
import type { StepRecord } from "../../../domain/Event.ts";
import type { Sample } from "../../../flow/Bus.ts";
import type { RunInfo } from "../Sink.ts";
import * as Series from "./Series.ts";

export interface Registry {
  /** The metrics that exporters read. */
  readonly context: Context.Context<never>;
  readonly run: (run: RunInfo) => void;
  readonly step: (record: StepRecord) => void;
  readonly sample: (sample: Sample) => void;
}

type RegistryValue =
  ReturnType<(typeof Metric.MetricRegistry.Service)["values"]> extends Iterable<infer Value> ? Value : never;

/** Effect's exporters read a registry by its values, so `values` fills it first. */
class FilledOnRead extends Map<string, RegistryValue> {
  readonly #fill: () => void;

  constructor(fill: () => void) {
    super();
    this.#fill = fill;
  }

  override values(): MapIterator<RegistryValue> {
    this.#fill();
    return super.values();
  }
}

/** The unit is an attribute, because exporters look for it there. */
const updateMetric = (
  context: Context.Context<never>,
  name: string,
  { help, kind, labels, unit, value }: Series.Series,
): void => {
  const options = { description: help, attributes: { ...labels, unit } };
  const metric =
    kind === "counter" ? Metric.counter(name, { ...options, incremental: true }) : Metric.gauge(name, options);
  metric.updateUnsafe(value, context);
};

/** Each series has the name that `nameOf` gives it. */
export const make = (nameOf: (series: Series.Series) => string): Registry => {
  let run: RunInfo | null = null;
  let step: StepRecord | null = null;
  let live: Sample | null = null;
  let changed = false;
  const metrics = new FilledOnRead(() => {
    if (!changed) return;
    changed = false;
    metrics.clear();
    const series = [
      ...(run === null ? [] : Series.ofRun(run)),
      ...(step === null ? [] : Series.ofStep(step)),
      ...(live === null ? [] : Series.ofSample(live)),
    ];
    for (const one of series) updateMetric(context, nameOf(one), one);
  });
  const context = Context.make(Metric.MetricRegistry, metrics);
  return {
    context,
    run: (info) => {
      run = info;
      changed = true;
    },
    step: (record) => {
      step = record;
      changed = true;
    },
    sample: (sample) => {
      live = sample;
      changed = true;
    },
  };
};
