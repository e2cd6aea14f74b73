/** Joins the events and gauges of a real run into observed windows. */
import type { RunConfig } from "../../config/RunConfig.ts";
import { type Episode, trainedSequences, type Version } from "../../domain/Episode.ts";
import type { Event, StepRecord } from "../../domain/Event.ts";
import { type Group, idsOf, type ScoredGroup } from "../../domain/Group.ts";
import { type Metrics, valueIn } from "../../domain/metrics/Metrics.ts";
import { generation, timing, tokens } from "../../domain/metrics/run.ts";
import type { Sample } from "../../flow/Bus.ts";
import type { StageSample } from "../../flow/Gauge.ts";
import { type PlayedGroup, type PlayedTurn, tokensOf, trainedOf } from "../simulation/replay/Played.ts";
import type { Meanwhile, ObservedRun, ObservedWindow } from "./ObservedRun.ts";
import { settingsOf } from "./Space.ts";

/** The result of the learn stage for a window. */
export interface Learned {
  readonly window: { readonly index: number; readonly groups: readonly Group[] };
  readonly filtered: { readonly kept: readonly ScoredGroup[] };
  /** Version it was trained from. */
  readonly from: Version;
  /** Times of its phases; those that did not take place are absent. */
  readonly seconds: { readonly values?: number; readonly advantages?: number; readonly update?: number };
}

/** Read at a step's record. */
export interface Gauges {
  readonly step: StageSample;
  /** Replies that may be under way at once. */
  readonly replies: number;
  /** Milliseconds on a core since the start: of the main thread, of the process, and of the whole machine. */
  readonly main: number;
  readonly process: number;
  readonly machine: number;
}

/** An episode by its lengths. */
const turnsOf = ({ sequences }: Episode): readonly PlayedTurn[] =>
  sequences.flatMap(({ summary, turns }, sequence) =>
    turns.map(({ prompt, sampled }, turn) => ({
      prompt: prompt.length,
      sampled: sampled.ids.length,
      ...(sequence > 0 && turn === 0 ? { opens: true } : {}),
      ...(summary === undefined ? {} : { summary }),
    })),
  );

/** The groups of a window by their lengths. */
const playedGroupsOf = ({ filtered, window }: Learned): readonly PlayedGroup[] => {
  const kept = new Set(idsOf(filtered.kept));
  return window.groups.map(({ episodes, prompt: { group } }) => ({
    kept: kept.has(group),
    episodes: episodes.map(turnsOf),
  }));
};

/** Counts how far the tokens of the kept groups are behind the learner's version. */
const staleness = ({ filtered, from }: Learned) => {
  let [stale, versionsBehind, mostBehind] = [0, 0, 0];
  for (const { episode } of filtered.kept.flatMap(({ episodes }) => episodes)) {
    const replies = trainedSequences(episode).flatMap(({ turns }) => turns);
    for (const version of replies.flatMap(({ sampled }) => [...sampled.versions])) {
      if (version < from) stale++;
      versionsBehind += from - version;
      mostBehind = Math.max(mostBehind, from - version);
    }
  }
  return { stale, versionsBehind, mostBehind };
};

export class Watcher {
  readonly #generatorThreads: number;
  readonly #read: () => Gauges;
  readonly windows: ObservedWindow[] = [];
  readonly groups: (readonly PlayedGroup[])[] = [];
  readonly steps: number[] = [];
  /** Results of `learn` whose step is not recorded yet, by step. */
  readonly #learned = new Map<number, Learned>();
  #gauges: Gauges | undefined;
  #stepping: StageSample | undefined;
  #turns = 0;

  constructor(generatorThreads: number, read: () => Gauges) {
    this.#generatorThreads = generatorThreads;
    this.#read = read;
  }

  heard(event: Event): void {
    // The stages are there once the first group is admitted.
    if (event._tag === "Admitted" && this.#gauges === undefined) this.#gauges = this.#read();
    if (event._tag === "Finished") for (const { turns } of event.episodes) this.#turns += turns;
  }

  sampled({ stages }: Sample): void {
    const now = stages.find(({ name }) => name === "step");
    const before = this.#stepping;
    if (now !== undefined && before !== undefined && now.items > before.items) {
      this.steps.push((now.busyMs - before.busyMs) / (now.items - before.items));
    }
    this.#stepping = now;
  }

  learned(learned: Learned): void {
    this.#learned.set(learned.window.index + 1, learned);
  }

  recorded({ metrics, step }: StepRecord): void {
    const [learned, before] = [this.#learned.get(step), this.#gauges];
    if (learned === undefined || before === undefined) return;
    this.#learned.delete(step);
    const now = this.#read();
    const groups = playedGroupsOf(learned);
    const { advantages = 0, update = 0, values = 0 } = learned.seconds;
    const trained = groups.filter(({ kept }) => kept);
    this.groups.push(groups);
    this.windows.push({
      time: 1000 * (valueIn(metrics, timing.step) ?? 0),
      learning: 1000 * (values + advantages + update),
      tokens: trained.reduce((sum, group) => sum + tokensOf(group), 0),
      trained: trained.reduce((sum, group) => sum + trainedOf(group), 0),
      ...staleness(learned),
      replies: now.replies,
      meanwhile: this.#between(before, now, metrics),
    });
    this.#gauges = now;
    this.#turns = 0;
  }

  #between(before: Gauges, now: Gauges, metrics: Metrics): Meanwhile {
    const seconds = valueIn(metrics, timing.step) ?? 0;
    const computing = now.process - before.process;
    const sampled = seconds * (valueIn(metrics, tokens.generated) ?? 0);
    const rows = valueIn(metrics, generation.rowsPerStep);
    return {
      generating: 1000 * seconds * (valueIn(metrics, generation.busy) ?? 0) * this.#generatorThreads,
      decodeSteps: rows === undefined ? 0 : sampled / rows,
      sampled,
      prefilled: seconds * (valueIn(metrics, tokens.prefilled) ?? 0),
      turns: this.#turns,
      stepping: now.step.busyMs - before.step.busyMs,
      steps: now.step.items - before.step.items,
      main: now.main - before.main,
      computing,
      others: Math.max(0, now.machine - before.machine - computing),
    };
  }
}

/** Leaves the warm-up out, unless nothing else was seen. */
export const observedOf = ({ groups, steps, windows }: Watcher, config: RunConfig, warmUp: number): ObservedRun => {
  const from = windows.length > warmUp ? warmUp : 0;
  return {
    settings: settingsOf(config),
    windows: windows.slice(from),
    groups: groups.slice(from).flat(),
    steps,
  };
};
