/**
 * A run's folder without a run: config.yaml, metrics.jsonl, events.jsonl and sampled episodes with their indexes, of any size. Everything
 * follows from the options, so that a test knows what it must find. Times are a second apart.
 */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { EpisodeRecord } from "../../../src/domain/EpisodeRecord.ts";
import type { StageSample } from "../../../src/flow/Gauge.ts";
import { type EventLine, encode, type LineContent } from "../../../src/observe/record/events/EventLine.ts";
import * as Replay from "../../../src/observe/record/events/Replay.ts";
import { SCHEMA as EVENTS_SCHEMA } from "../../../src/observe/record/events/RunLine.ts";
import { episodeIndexLine } from "../../../src/observe/record/Trajectories.ts";
import { episodeRecord, turnRecord } from "../../build/records.ts";

export interface Synthetic {
  readonly steps: number;
  /** Groups of a window, episodes of a group. */
  readonly groups: number;
  readonly groupSize: number;
  /** Metrics of a step. */
  readonly metrics: number;
  /** A group is recorded every so many steps. */
  readonly episodesEvery: number;
  readonly tokens: number;
  readonly ended: boolean;
  readonly keyframeBytes: number;
}

export const small: Synthetic = {
  steps: 40,
  groups: 4,
  groupSize: 2,
  metrics: 8,
  episodesEvery: 4,
  tokens: 6,
  ended: true,
  keyframeBytes: 4_096,
};

/** When the run starts; step `n` closes `n` seconds later. */
export const START = 1_800_000_000_000;

const runFile = ({ steps }: Synthetic): string =>
  `run:\n  name: made\n  seed: 7\npipeline:\n  mode: async\n  max_staleness: 2\ntrainer:\n  total_training_steps: ${steps}\n`;

/** A file written in large pieces. */
class Output {
  readonly #file: number;
  #waiting: string[] = [];
  #bytes = 0;
  size = 0;

  constructor(path: string) {
    this.#file = openSync(path, "w");
  }

  line(text: string): number {
    const bytes = Buffer.byteLength(text) + 1;
    this.#waiting.push(text, "\n");
    this.size += bytes;
    this.#bytes += bytes;
    if (this.#bytes > 2 ** 20) this.flush();
    return bytes;
  }

  flush(): void {
    writeSync(this.#file, this.#waiting.join(""));
    this.#waiting = [];
    this.#bytes = 0;
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
  }
}

/** Events with keyframes between them, as the run's log writes them. */
class Log {
  readonly #events: Output;
  readonly #index: Output;
  readonly #keyframeBytes: number;
  #replay = Replay.initial;
  #keyframeEnd = Number.NEGATIVE_INFINITY;

  constructor(folder: string, keyframeBytes: number) {
    this.#events = new Output(join(folder, "events.jsonl"));
    this.#index = new Output(join(folder, "events.index.jsonl"));
    this.#keyframeBytes = keyframeBytes;
  }

  add(happening: LineContent, step: number, at: number): void {
    const line: EventLine = { step, at, ...happening };
    this.#events.line(encode(line));
    this.#replay = Replay.observe(this.#replay, line);
    if (this.#events.size - this.#keyframeEnd <= this.#keyframeBytes) return;
    this.#index.line(JSON.stringify({ step, at, offset: this.#events.size }));
    this.#events.line(encode({ step, at, _tag: "Keyframe", frame: Replay.keyframeOf(this.#replay) }));
    this.#keyframeEnd = this.#events.size;
  }

  close(): void {
    this.#events.close();
    this.#index.close();
  }
}

const stage = (name: string, elapsedMs: number, concurrency: number, busy: number): StageSample => ({
  name,
  kind: "flow",
  elapsedMs,
  concurrency,
  capacity: 1,
  running: Math.round(concurrency * busy),
  blocked: 0,
  queue: 1,
  items: Math.floor(elapsedMs / 250),
  busyMs: elapsedMs * concurrency * busy,
  blockedMs: 0,
  starvedMs: elapsedMs * concurrency * (1 - busy),
  queueMs: elapsedMs,
  calls: [],
});

const gauges = (elapsedMs: number): LineContent => ({
  _tag: "Gauges",
  sample: {
    elapsedMs,
    stages: [stage("rollout", elapsedMs, 4, 0.75), stage("learn", elapsedMs, 1, 0.5)],
    settings: [{ name: "lanes", concurrency: elapsedMs < 10_000 ? 2 : 1, most: 2 }],
    tokens: { generated: elapsedMs, trained: elapsedMs / 2 },
    groupsInFlight: 4,
    process: { cpuMs: 1.5 * elapsedMs, rssBytes: 1e8, heapBytes: 1e7, loopLagMs: { p99: 2, max: 5 } },
  },
});

const step = (log: Log, n: number, { groupSize, groups, tokens }: Synthetic): void => {
  const begin = START + (n - 1) * 1_000;
  const window = n - 1;
  const ids = Array.from({ length: groups }, (_, i) => window * groups + i);
  for (const group of ids) log.add({ _tag: "Admitted", group, window }, n, begin);
  log.add(gauges((n - 1) * 1_000 + 1), n, begin + 1);
  const episode = {
    success: n % 2 === 0,
    reward: 1,
    turns: 2,
    versions: [[Math.max(0, n - 2), tokens]],
    failed: false,
  } as const;
  const episodes = Array.from({ length: groupSize }, () => episode);
  for (const [i, group] of ids.entries()) {
    log.add(
      { _tag: "Finished", group, tokens: tokens * groupSize, failed: false, tag: "Made", episodes },
      n,
      begin + 100 + i,
    );
  }
  log.add({ _tag: "Windowed", window, groups: ids }, n, begin + 500);
  log.add({ _tag: "Scored", window }, n, begin + 510);
  const judged = ids.map((group, i) => ({
    group,
    verdict: i === 0 ? ("rule" as const) : ("kept" as const),
    score: i,
    reward: i / 2,
  }));
  log.add({ _tag: "Verdict", window, kept: ids.slice(1), filtered: ids.slice(0, 1), judged }, n, begin + 520);
  log.add({ _tag: "Learning", window, from: n - 1 }, n, begin + 530);
  log.add({ _tag: "Updated", window, groups: ids.slice(1), version: n, tokens: tokens * groupSize }, n, begin + 900);
  log.add({ _tag: "WeightsAdopted", version: n }, n, begin + 950);
  log.add({ _tag: "StepClosed", step: n, groups: ids, seconds: n }, n, begin + 1_000);
  if (n % 10 === 0) log.add({ _tag: "Validated", step: n, success: 0.5 }, n, begin + 1_000);
};

const record = (n: number, group: number, member: number, count: number): EpisodeRecord => {
  const ids = Array.from({ length: count }, (_, i) => 100 + i);
  const success = member % 2 === 0;
  const turn = turnRecord(
    ids.map(() => "x"),
    {
      prompt_ids: ids,
      ids,
      mu: ids.map((id) => -id / 100),
      entropies: ids.map((id) => id / 100),
      versions: ids.map(() => n - 1),
      advantages: ids.map(() => 0.25),
      reward: member,
    },
  );
  return episodeRecord({
    step: n,
    group,
    member,
    tag: "Made",
    seed: 10 * group,
    success,
    reward: member,
    outcome: { _tag: "Done", success },
    verdict: "kept",
    groupScore: 1,
    score: 0.5,
    messages: [
      { role: "user", content: `state of ${group}` },
      { role: "assistant", content: "x".repeat(count) },
    ],
    turns: [turn],
  });
};

const writeEpisodes = (folder: string, { episodesEvery, groupSize, groups, steps, tokens }: Synthetic): void => {
  const [records, index] = [
    new Output(join(folder, "trajectories.jsonl")),
    new Output(join(folder, "trajectories.index.jsonl")),
  ];
  for (let n = episodesEvery; n <= steps; n += episodesEvery) {
    for (let member = 0; member < groupSize; member++) {
      const each = record(n, (n - 1) * groups, member, tokens);
      const offset = records.size;
      index.line(JSON.stringify(episodeIndexLine(each, offset, records.line(JSON.stringify(each)))));
    }
  }
  records.close();
  index.close();
};

export const metricLine = (n: number, count: number): string => {
  const metrics = Array.from({ length: count }, (_, i) => [`made/m${i}`, n * (i + 1)] as const);
  return JSON.stringify({ step: n, time: START + n * 1_000, ...Object.fromEntries(metrics) });
};

const writeMetrics = (folder: string, { metrics, steps }: Synthetic): void => {
  const output = new Output(join(folder, "metrics.jsonl"));
  for (let n = 1; n <= steps; n++) output.line(metricLine(n, metrics));
  output.close();
};

const writeEvents = (folder: string, options: Synthetic): void => {
  const { ended, groupSize, groups, keyframeBytes, steps } = options;
  const log = new Log(folder, keyframeBytes);
  const run = {
    name: "made",
    mode: "async",
    maxStaleness: 2,
    seed: 7,
    steps,
    groups,
    groupSize,
    episodes: 128,
  } as const;
  const most = { rollout: 48, score: 64, generate: 128, step: 2 };
  log.add({ _tag: "Run", schema: EVENTS_SCHEMA, ...run, most }, 0, START);
  for (let n = 1; n <= steps; n++) step(log, n, options);
  if (ended) log.add({ _tag: "End", outcome: "completed", message: "" }, steps, START + steps * 1_000);
  log.close();
};

/** Writes the run to `folder`, which is made. */
export const writeRun = (folder: string, changes: Partial<Synthetic> = {}): Synthetic => {
  const options = { ...small, ...changes };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.yaml"), runFile(options));
  writeMetrics(folder, options);
  writeEvents(folder, options);
  writeEpisodes(folder, options);
  return options;
};
