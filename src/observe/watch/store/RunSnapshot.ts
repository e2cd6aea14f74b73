/**
 * A run at one moment, from its lines up to then: places of groups, recent gauges, and the staleness of the last windows' tokens.
 * Invariant: it holds the last `SAMPLES_MS` of gauges and `WINDOWS` windows, however many lines it observes.
 */
import { HashMap } from "effect";
import type { Alarm } from "../../../domain/alarms/Alarms.ts";
import { sentencesOf, titleLine } from "../../../domain/alarms/text.ts";
import { GroupSummaries } from "../../../domain/GroupSummaries.ts";
import { type Sample, tokenRates } from "../../../flow/Bus.ts";
import { type StageSample, shares, times } from "../../../flow/Gauge.ts";
import type { EventLine } from "../../record/events/EventLine.ts";
import * as Replay from "../../record/events/Replay.ts";
import type { RunLine } from "../../record/events/RunLine.ts";
import type { AlarmView, BottleneckView, LineView, StageView } from "../Api.ts";

/** Gauges with the time of their reading. */
export interface TimedSample {
  readonly at: number;
  readonly sample: Sample;
}

/** Finds the stage that bounds throughput from the gauges of the last minute, oldest first; null if they show none. */
export type AttributeBottleneck = (samples: readonly TimedSample[], run: RunLine | null) => BottleneckView | null;

export const noAttribution: AttributeBottleneck = () => null;

/** The intervals of shares, waits and rates. Updates come in lumps, so rates of training need a longer one. */
const SHARES_MS = 5_000;
const TRAINED_MS = 20_000;
const SAMPLES_MS = 60_000;
const WINDOWS = 20;
/** Older tokens count in the last entry. */
const MOST_STALE = 64;

export class RunSnapshot {
  #replay: Replay.Replay = Replay.initial;
  #samples: TimedSample[] = [];
  readonly #summaries = new GroupSummaries();
  #staleness: (readonly number[])[] = [];

  /** Adds one more line of the run. */
  observe(line: EventLine): void {
    this.#replay = Replay.observe(this.#replay, line);
    switch (line._tag) {
      case "Gauges":
        if (isSample(line.sample)) this.#sampled({ at: line.at, sample: line.sample });
        break;
      case "Run":
        this.#samples = [];
        break;
      case "Learning":
        this.#consumed(line.window, line.from);
        break;
      case "Keyframe":
      case "End":
        break;
      default:
        this.#summaries.observe(line);
    }
  }

  get at(): number {
    return this.#replay.at;
  }

  get replay(): Replay.Replay {
    return this.#replay;
  }

  view(adoptions: LineView["adoptions"], attribute: AttributeBottleneck): LineView {
    const {
      adopted,
      alarms = [],
      at,
      ended,
      failed,
      groups,
      paused,
      run,
      servers,
      step,
      validating,
      version,
    } = Replay.keyframeOf(this.#replay);
    const latest = this.#samples.at(-1) ?? null;
    const before = this.#before(SHARES_MS);
    const oldest = this.#samples.length < 2 ? null : (this.#samples[0]?.sample ?? null);
    return {
      at,
      step,
      version,
      adopted,
      paused,
      validating,
      stages: (latest?.sample.stages ?? []).map((stage) => stageView(before?.sample ?? null, oldest, stage, run)),
      ...(latest?.sample.settings === undefined ? {} : { settings: latest.sample.settings }),
      ...(servers === undefined || servers.length === 0 ? {} : { servers }),
      ...(alarms.length === 0 ? {} : { alarms: alarms.map(alarmView) }),
      ...(failed === undefined || Object.keys(failed).length === 0 ? {} : { failed }),
      groups,
      tokensPerSecond: {
        generated: this.#rate("generated", SHARES_MS),
        trained: this.#rate("trained", TRAINED_MS),
      },
      // After the end, the last gauges would only show how the run emptied.
      bottleneck: ended === null ? attribute(this.#samples, run) : null,
      staleness: sumOf(this.#staleness),
      adoptions,
      process: latest === null ? null : processView(before, latest),
    };
  }

  #sampled(next: TimedSample): void {
    const last = this.#samples.at(-1);
    // The gauges of a resumed run start again.
    if (last !== undefined && next.sample.elapsedMs < last.sample.elapsedMs) this.#samples = [];
    this.#samples.push(next);
    const first = this.#samples.findIndex(({ at }) => at >= next.at - SAMPLES_MS);
    if (first > 0) this.#samples.splice(0, first);
  }

  #consumed(window: number, from: number): void {
    const counts: number[] = [];
    const trained = [...HashMap.values(this.#replay.groups)].filter(
      (group) => group.window === window && group.verdict === "kept",
    );
    const summaries = trained.flatMap(({ group }) => this.#summaries.episodesOf(group));
    for (const [version, tokens] of summaries.flatMap(({ versions }) => versions)) {
      const age = Math.max(0, Math.min(MOST_STALE, from - version));
      while (counts.length <= age) counts.push(0);
      counts[age] = (counts[age] ?? 0) + tokens;
    }
    if (counts.length > 0) this.#staleness = [...this.#staleness, counts].slice(-WINDOWS);
  }

  /** The newest sample at least `ms` before the last, else the oldest; null if there is only one. */
  #before(ms: number): TimedSample | null {
    const last = this.#samples.at(-1);
    if (last === undefined || this.#samples.length < 2) return null;
    return this.#samples.findLast(({ at }) => at <= last.at - ms) ?? this.#samples[0] ?? null;
  }

  #rate(kind: "generated" | "trained", ms: number): number {
    const [before, last] = [this.#before(ms), this.#samples.at(-1)];
    if (before === null || last === undefined) return 0;
    return tokenRates(before.sample, last.sample)?.[kind] ?? 0;
  }
}

const alarmView = (alarm: Alarm): AlarmView => ({
  alarm: alarm.alarm,
  head: titleLine(alarm),
  sentences: sentencesOf(alarm),
});

/** True for a value of a file that has the shape of gauges. */
const isSample = (value: unknown): value is Sample =>
  typeof value === "object" &&
  value !== null &&
  "elapsedMs" in value &&
  "tokens" in value &&
  typeof value.tokens === "object" &&
  value.tokens !== null &&
  "process" in value &&
  typeof value.process === "object" &&
  value.process !== null &&
  "loopLagMs" in value.process &&
  typeof value.process.loopLagMs === "object" &&
  value.process.loopLagMs !== null &&
  "stages" in value &&
  Array.isArray(value.stages) &&
  value.stages.every((stage) => typeof stage === "object" && stage !== null) &&
  (!("settings" in value) ||
    (Array.isArray(value.settings) &&
      value.settings.every((setting) => typeof setting === "object" && setting !== null)));

/** Means over the time between two samples; null if no item passed. */
const timesOf = (then: StageSample | null, stage: StageSample): Pick<StageView, "serviceMs" | "waitMs"> =>
  stage.items > (then?.items ?? 0) ? times(then, stage) : { waitMs: null, serviceMs: null };

/** Shares are counted from `recent` on. Means are counted from `oldest` on, since few items pass in seconds. */
const stageView = (
  recent: Sample | null,
  oldest: Sample | null,
  stage: StageSample,
  run: RunLine | null,
): StageView => {
  const before = (sample: Sample | null) => sample?.stages.find(({ name }) => name === stage.name) ?? null;
  const { blocked, capacity, concurrency, items, kind, name, queue, running } = stage;
  return {
    name,
    kind,
    concurrency,
    adjustable: run !== null && Object.hasOwn(run.most, name),
    capacity,
    running,
    blocked,
    queue,
    items,
    shares: shares(before(recent), stage),
    ...timesOf(before(oldest), stage),
  };
};

const processView = (before: TimedSample | null, { sample }: TimedSample): LineView["process"] => {
  const { cpuMs, loopLagMs, rssBytes } = sample.process;
  const elapsed = sample.elapsedMs - (before?.sample.elapsedMs ?? 0);
  const spent = cpuMs - (before?.sample.process.cpuMs ?? 0);
  return { cpu: elapsed > 0 ? spent / elapsed : 0, rssBytes, loopLagMs: loopLagMs.p99 };
};

const sumOf = (windows: readonly (readonly number[])[]): readonly number[] =>
  Array.from({ length: Math.max(0, ...windows.map(({ length }) => length)) }, (_, age) =>
    windows.reduce((sum, counts) => sum + (counts[age] ?? 0), 0),
  );
