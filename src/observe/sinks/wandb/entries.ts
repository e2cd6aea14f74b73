/** A run and its steps as entries of the file, and its configuration as the server takes it. Pure. */
import { basename } from "node:path";
import type { StepRecord } from "../../../domain/Event.ts";
import type { RunInfo } from "../Sink.ts";
import type { RunUpsert } from "./Client.ts";
import { configured, STEP } from "./Definitions.ts";
import { SDK_VERSION } from "./encode.ts";
import { type Item, item, objectOf, textOf } from "./Json.ts";
import type { Machine } from "./System.ts";
import type { EnvironmentEntry, HistoryEntry, MetricEntry, RunEntry, SummaryEntry } from "./WandbEntry.ts";

/** The labels under which a run is filed, from the section `metrics.wandb`. */
export interface Labels {
  readonly project: string;
  readonly entity: string;
  readonly group: string;
  readonly tags: readonly string[];
}

/** Several runs of one name differ by their folder. */
const nameOf = ({ folder, name }: RunInfo): string => `${name}-${basename(folder)}`;

/** The run file's sections, and which Millrace ran it. */
export const configItems = (run: RunInfo, version: string): readonly Item[] => [
  item("_wandb", {}),
  ...Object.entries(run.config).map(([key, value]) => item(key, value)),
  item("millrace", { version, mode: run.mode }),
];

/** `config.yaml` as W&B lays it out; JSON is YAML. */
export const configYaml = (items: readonly Item[]): string =>
  items.map(({ json, path }) => `${JSON.stringify(path.join("."))}:\n    value: ${json}\n`).join("");

export const runEntry = (run: RunInfo, id: string, labels: Labels, version: string, { host }: Machine): RunEntry => ({
  _tag: "Run",
  id,
  ...labels,
  config: configItems(run, version),
  name: nameOf(run),
  host,
  started: run.started,
});

export const environmentEntry = (run: RunInfo, machine: Machine): EnvironmentEntry => ({
  _tag: "Environment",
  program: "millrace",
  started: run.started,
  ...machine,
});

/** `wandb-metadata.json`. */
export const metadata = ({ cpus, host, memoryBytes, os, program, started }: EnvironmentEntry): string =>
  textOf({
    os,
    program,
    host,
    startedAt: new Date(started).toISOString(),
    cpu_count: cpus,
    cpu_count_logical: cpus,
    memory: { total: memoryBytes },
  });

/** Field numbers of the telemetry that a server looks at. */
const telemetry = { 3: [], 5: SDK_VERSION } as const;

/** The run's properties for the server. */
export const upsert = (entry: RunEntry, metrics: readonly MetricEntry[]): RunUpsert => {
  const serverConfig = { cli_version: SDK_VERSION, t: telemetry, m: configured(metrics) };
  const items = entry.config.map(({ json, path }) =>
    path[0] === "_wandb"
      ? { path: ["_wandb", "value"], json: textOf(serverConfig) }
      : { path: [...path, "value"], json },
  );
  const { entity, group, host, id, name, project, tags } = entry;
  return { id, entity, project, group, name, tags, host, config: objectOf(items) };
};

/** A step's values and tables, with the seconds of the run before it. */
export const historyEntry = (
  { metrics, step, time }: StepRecord,
  runtime: number,
  tables: readonly Item[],
): HistoryEntry => ({
  _tag: "History",
  step,
  items: [
    item(STEP, step),
    ...Array.from(metrics, ([name, value]) => item(name, value)),
    ...tables,
    item("_timestamp", time / 1000),
    item("_runtime", runtime),
    item("_step", step),
  ],
});

export const summaryEntry = (items: readonly Item[], runtime: number): SummaryEntry => ({
  _tag: "Summary",
  items: [...items, { path: ["_wandb", "runtime"], json: textOf(Math.floor(runtime)) }],
});
