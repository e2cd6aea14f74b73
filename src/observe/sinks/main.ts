/**
 * The module `millrace/metrics`, for authors of sinks and readers of metrics: the sink's contract, its arguments, and the
 * catalogue of metrics.
 */
export type { EpisodeRecord, Message, TurnRecord } from "../../domain/EpisodeRecord.ts";
export type { Event, StepRecord } from "../../domain/Event.ts";
export {
  type CatalogueEntry as Entry,
  catalogue,
  entryOf,
  type MetricKey,
  nameOf,
  type Section,
} from "../../domain/metrics/Catalogue.ts";
export { endings, episodes, lengths, ofTag } from "../../domain/metrics/episodes.ts";
export { filter } from "../../domain/metrics/filter.ts";
export { learner } from "../../domain/metrics/learner.ts";
export type { Family, Kind, Metric, MetricName, Unit } from "../../domain/metrics/Metric.ts";
export { type Metrics, toRecord, valueIn } from "../../domain/metrics/Metrics.ts";
export { generation, ledger, stage, staleness, timing, tokens, weights, windows } from "../../domain/metrics/run.ts";
export type { RunOutcome as Outcome } from "../../domain/RunOutcome.ts";
export type { Sample } from "../../flow/Bus.ts";
export type { StageSample } from "../../flow/Gauge.ts";
export { csv } from "./csv.ts";
export { type Feeding, type RunInfo, type Sink, SinkError } from "./Sink.ts";
export { type PlainSink, sinkOf } from "./sinkOf.ts";
