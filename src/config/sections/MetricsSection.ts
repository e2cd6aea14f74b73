/** Where metrics go, and how often gauges are sampled. */
import { Schema } from "effect";
import { field, folderName, fraction, maxListLength, milliseconds, port, section, url, whole } from "../field.ts";

export const WandbSection = Schema.Struct({
  mode: field(
    Schema.Literals(["offline", "online"]),
    "offline",
    "offline writes a folder that `wandb sync` uploads; online also streams to the server, with WANDB_API_KEY.",
  ),
  project: field(folderName, "millrace", "Project of the run."),
  entity: field(Schema.String, "", "User or team; empty for the key's own."),
  group: field(Schema.String, "", "Group of the run; empty for none."),
  tags: field(Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(maxListLength)), [], "Tags of the run."),
  base_url: field(url, "https://api.wandb.ai", "The server of online mode."),
  group_tables: field(
    Schema.Boolean,
    false,
    "Log the rewards of each step's groups, and the deviation of every group, as tables.",
  ),
  train_episodes: field(whole(0, 10_000), 128, "Rows of the table of training episodes at most, over the run."),
});

export const OtlpSection = Schema.Struct({
  endpoint: field(url, "http://127.0.0.1:4318", "The collector, without /v1/traces."),
  traces: field(Schema.Boolean, true, "Send a span for each group, turn, generate, step and update."),
  trace_groups: field(
    fraction,
    0.1,
    "Share of the groups whose spans are sent; all other spans always are. With metrics.trace, all groups are.",
  ),
  metrics: field(Schema.Boolean, true, "Send the gauges and the metrics of each step."),
});

export const PrometheusSection = Schema.Struct({
  port: field(port, 9464, "Port of /metrics; 0 takes any free one."),
  host: field(Schema.NonEmptyString, "127.0.0.1", "Address to listen on."),
});

export const sinkNames = ["console", "jsonl", "wandb", "tensorboard", "otlp", "prometheus"] as const;

export const MetricsSection = Schema.Struct({
  sinks: field(
    Schema.Array(Schema.Literals(sinkNames)),
    ["console", "jsonl"],
    "Where metrics go; metrics.jsonl is always written (docs/sinks.md).",
  ),
  wandb: section(WandbSection, "Weights & Biases."),
  otlp: section(OtlpSection, "OpenTelemetry."),
  prometheus: section(PrometheusSection, "Prometheus."),
  trace: field(
    Schema.Boolean,
    false,
    "Write trace.json, which Perfetto opens: stages, slots, threads, and weights to tokens.",
  ),
  events: field(Schema.Boolean, true, "Write events.jsonl, which the page's time travel reads."),
  console: field(
    Schema.Literals(["auto", "live", "plain", "off"]),
    "auto",
    "Live block on a terminal, plain lines otherwise.",
  ),
  refresh_ms: field(milliseconds, 250, "Refresh of the live block."),
  sample_ms: field(milliseconds, 500, "Sampling of the gauges."),
});
