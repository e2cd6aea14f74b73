/** The section `metrics`: sinks, events, the trace and the sampling of gauges. */
import { Schema } from "effect";
import { field, folderName, fraction, maxListLength, milliseconds, port, section, url, whole } from "../field.ts";

export const WandbSection = Schema.Struct({
  mode: field(
    Schema.Literals(["offline", "online"]),
    "offline",
    "offline writes a folder that `wandb sync` uploads; online also streams to the server, with WANDB_API_KEY.",
  ),
  project: field(folderName, "millrace", "W&B project of the run."),
  entity: field(Schema.String, "", "W&B user or team; empty is the key's own."),
  group: field(Schema.String, "", "W&B group of the run; empty for none."),
  tags: field(Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(maxListLength)), [], "W&B tags of the run."),
  base_url: field(url, "https://api.wandb.ai", "W&B server of online mode."),
  group_tables: field(Schema.Boolean, false, "Log each step's group rewards and their deviations as W&B tables."),
  train_episodes: field(whole(0, 10_000), 128, "Most rows of the W&B table of training episodes, over the run."),
});

export const OtlpSection = Schema.Struct({
  endpoint: field(url, "http://127.0.0.1:4318", "Address of the OpenTelemetry collector, without /v1/traces."),
  traces: field(Schema.Boolean, true, "Send a span for each group, turn, generate, step and update."),
  trace_groups: field(
    fraction,
    0.1,
    "Share of groups whose spans are sent; with metrics.trace, all groups. Other spans are always sent.",
  ),
  metrics: field(Schema.Boolean, true, "Send the gauges and the metrics of each step."),
});

export const PrometheusSection = Schema.Struct({
  port: field(port, 9464, "Port of /metrics; 0 takes any free one."),
  host: field(Schema.NonEmptyString, "127.0.0.1", "Address that /metrics listens on."),
});

export const sinkNames = ["console", "jsonl", "wandb", "tensorboard", "otlp", "prometheus"] as const;

export const MetricsSection = Schema.Struct({
  sinks: field(
    Schema.Array(Schema.Literals(sinkNames)),
    ["console", "jsonl"],
    "Sinks of metrics; metrics.jsonl is always written (docs/sinks.md).",
  ),
  wandb: section(WandbSection, "The Weights & Biases sink."),
  otlp: section(OtlpSection, "The OpenTelemetry sink."),
  prometheus: section(PrometheusSection, "The Prometheus sink."),
  trace: field(
    Schema.Boolean,
    false,
    "Write trace.json for Perfetto: stages, slots, threads, and arrows from weights to tokens.",
  ),
  events: field(Schema.Boolean, true, "Write events.jsonl, which the page's time travel reads."),
  console: field(
    Schema.Literals(["auto", "live", "plain", "off"]),
    "auto",
    "Console output: a live block, plain lines, or off; auto is live on a terminal and plain otherwise.",
  ),
  refresh_ms: field(milliseconds, 250, "Interval at which the live block is redrawn, in milliseconds."),
  sample_ms: field(milliseconds, 500, "Interval at which gauges are sampled, in milliseconds."),
});
