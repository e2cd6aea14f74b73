/** Values that the metrics tests share. */
import { Effect } from "effect";
import type { Sample } from "../../../src/flow/Bus.ts";
import { emptySample, type StageSample } from "../../../src/flow/Gauge.ts";
import type { RunSinksOptions } from "../../../src/observe/sinks/RunSinks.ts";
import type { RunInfo, Sink } from "../../../src/observe/sinks/Sink.ts";
import type { Terminal } from "../../../src/observe/sinks/Terminal.ts";

export const run: RunInfo = {
  name: "quickstart",
  folder: "runs/quickstart/1",
  mode: "async, max staleness 2",
  seed: 0,
  from: 0,
  steps: 200,
  window: { groups: 128, groupSize: 8, order: "admission" },
  started: 1_000_000,
  alarms: [],
  config: { run: { name: "quickstart", seed: 0 } },
};

export const stage = (name: string, over: Partial<StageSample> = {}): StageSample => ({
  ...emptySample(name),
  capacity: 8,
  ...over,
});

export const sample = (elapsedMs: number, stages: readonly StageSample[] = [], generated = 0): Sample => ({
  elapsedMs,
  stages,
  tokens: { generated, trained: 0 },
  groupsInFlight: 24,
  process: { cpuMs: 2 * elapsedMs, rssBytes: 5e8, heapBytes: 1e8, loopLagMs: { p99: 4, max: 9 } },
});

/** A run file's sinks: the usual ones, and servers that are not there. */
export const someSinks: RunSinksOptions["metrics"] = {
  sinks: ["console", "jsonl"],
  otlp: { endpoint: "http://127.0.0.1:1", traces: true, trace_groups: 0.25, metrics: true },
  prometheus: { host: "127.0.0.1", port: 0 },
  wandb: {
    mode: "offline",
    project: "millrace",
    entity: "",
    group: "",
    tags: [],
    base_url: "http://127.0.0.1:1",
    group_tables: false,
    train_episodes: 0,
  },
  trace: false,
};

/** A terminal that keeps what is written. */
export const recorder = (over: Partial<Terminal> = {}) => {
  const written: string[] = [];
  const terminal: Terminal = {
    write: (text) => void written.push(text),
    broken: () => null,
    columns: () => 100,
    rows: () => 30,
    live: true,
    colour: false,
    unicode: true,
    hideCursor: () => void written.push("<hide>"),
    showCursor: () => void written.push("<show>"),
    ...over,
  };
  return { written, terminal };
};

/** A sink that keeps what it is told. */
export const notebook = (over: Partial<Sink> = {}) => {
  const messages: string[] = [];
  const note = (text: string) => Effect.sync(() => void messages.push(text));
  const sink: Sink = {
    name: "notebook",
    essential: false,
    open: ({ name }) => note(`open ${name}`),
    step: ({ step }) => note(`step ${step}`),
    gauges: ({ elapsedMs }) => note(`gauges ${elapsedMs}`),
    event: ({ _tag }) => note(`event ${_tag}`),
    close: ({ _tag }) => note(`close ${_tag}`),
    ...over,
  };
  return { messages, sink };
};
