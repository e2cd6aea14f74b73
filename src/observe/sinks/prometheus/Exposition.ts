/**
 * The text that Prometheus scrapes, by Effect's exporter, which is an unstable module. Names are Prometheus's own style: base units, `_total`
 * for what counts since the run began, and none of the endings that it keeps for parts of histograms.
 */
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics";
import type { Registry } from "../export/Registry.ts";
import type { Series } from "../export/Series.ts";

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

/** Units that are always part of a name. */
const suffixes: Readonly<Record<string, string>> = { s: "seconds", bytes: "bytes" };

const ended = (words: readonly string[], suffix: string): readonly string[] =>
  words.join("_").endsWith(suffix) ? words : [...words, suffix];

/** `stage/{stage}/busy` is `millrace_stage_busy`, `timing_s/total` is `millrace_timing_seconds_total`. */
export const nameOf = ({ kind, path, unit }: Series): string => {
  const counter = kind === "counter";
  let words = counter && path.at(-1) === "total" ? path.slice(0, -1) : path;
  const suffix = suffixes[unit] ?? (/_(count|sum|bucket)$/.test(words.join("_")) ? unit : null);
  if (suffix !== null) words = ended(words, suffix);
  return ["millrace", ...words, ...(counter ? ["total"] : [])].join("_").replace(/[^a-zA-Z0-9_]+/g, "_");
};

export const format = ({ context }: Registry): string => PrometheusMetrics.formatUnsafe(context);
