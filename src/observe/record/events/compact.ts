/**
 * Encodes the frequent parts of a line as arrays without names, which take a third of the bytes: the episodes of a group and the
 * stages of a sample. Invariant: decoding gives back the encoded value, with times and levels rounded to a tenth.
 */
import type { EpisodeSummary, VersionRun } from "../../../domain/EpisodeSummary.ts";
import type { Sample } from "../../../flow/Bus.ts";
import type { StageSample } from "../../../flow/Gauge.ts";

export type CompactEpisode = readonly [
  success: 0 | 1,
  reward: number,
  turns: number,
  versions: readonly VersionRun[],
  failed: 0 | 1,
];

export const compactEpisode = ({ failed, reward, success, turns, versions }: EpisodeSummary): CompactEpisode => [
  success ? 1 : 0,
  reward,
  turns,
  versions,
  failed ? 1 : 0,
];

export const episodeOf = ([success, reward, turns, versions, failed]: CompactEpisode): EpisodeSummary => ({
  success: success === 1,
  reward,
  turns,
  versions,
  failed: failed === 1,
});

export type CompactStage = readonly [name: string, kind: StageSample["kind"], ...numbers: number[]];

/** The fields of a stage, in the order of the array. */
const numbers = [
  "elapsedMs",
  "concurrency",
  "capacity",
  "running",
  "blocked",
  "queue",
  "items",
  "busyMs",
  "blockedMs",
  "starvedMs",
  "queueMs",
] as const satisfies readonly Exclude<keyof StageSample, "name" | "kind" | "calls">[];

const tenth = (value: number): number => Math.round(value * 10) / 10;

const compactStage = (stage: StageSample): CompactStage => [
  stage.name,
  stage.kind,
  ...numbers.map((key) => tenth(stage[key])),
];

export const stageOf = ([name, kind, ...values]: CompactStage): StageSample => {
  const at = (key: (typeof numbers)[number]): number => values[numbers.indexOf(key)] ?? 0;
  return {
    name,
    kind,
    elapsedMs: at("elapsedMs"),
    concurrency: at("concurrency"),
    capacity: at("capacity"),
    running: at("running"),
    blocked: at("blocked"),
    queue: at("queue"),
    items: at("items"),
    busyMs: at("busyMs"),
    blockedMs: at("blockedMs"),
    starvedMs: at("starvedMs"),
    queueMs: at("queueMs"),
    calls: [],
  };
};

export interface CompactSample extends Omit<Sample, "stages"> {
  readonly stages: readonly CompactStage[];
}

export const compactSample = ({ elapsedMs, process, stages, ...rest }: Sample): CompactSample => ({
  ...rest,
  elapsedMs: tenth(elapsedMs),
  stages: stages.map(compactStage),
  process: {
    ...process,
    cpuMs: Math.round(process.cpuMs),
    loopLagMs: { p99: tenth(process.loopLagMs.p99), max: tenth(process.loopLagMs.max) },
  },
});

export const sampleOf = ({ stages, ...rest }: CompactSample): Sample => ({ ...rest, stages: stages.map(stageOf) });
