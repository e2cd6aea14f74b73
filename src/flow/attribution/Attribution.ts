/**
 * Finds the stage that bounds throughput, by how much, and what limits that stage, from two readings of the gauges. Pure. A stage's pull is
 * the share by which throughput grows per share of capacity that the stage gains: near 1 if items always wait for it, near 0 if none does.
 * Invariant: every number is measured over the interval; what the interval does not show is null.
 */
import type { PipelineMode } from "../../domain/PipelineMode.ts";
import type { StageSample } from "../Gauge.ts";
import { explainPull } from "./explainPull.ts";
import type { Limit, Pull } from "./Pull.ts";
import * as StageLoad from "./StageLoad.ts";

/** Facts of the run that the gauges do not show. */
export interface RunLimits {
  readonly mode: PipelineMode;
  /** Episodes of a group, and the most in flight (slots over all generator threads). */
  readonly groupSize?: number;
  readonly episodes?: number;
  /** The most slots that a stage can be given; a stage without an entry can have any. */
  readonly most?: ReadonlyMap<string, number>;
  /** The generator threads as a gauge at both moments, where it was asked for them. */
  readonly generators?: { readonly before: StageSample | null; readonly after: StageSample };
}

export interface Bottleneck extends Pull {
  /** Share of the stage's slot-time that was busy. */
  readonly busy: number;
  /** One sentence for people. */
  readonly because: string;
}

export interface Attribution {
  /** Null while too little has passed to tell. */
  readonly bottleneck: Bottleneck | null;
  /** Strongest first. */
  readonly pulls: readonly Pull[];
  readonly loads: readonly StageLoad.StageLoad[];
}

type Loads = ReadonlyMap<string, StageLoad.StageLoad>;

/** Items that must have passed before the gauges tell anything. */
const MIN_ITEMS = 8;
/** A share above which a thread or a phase counts as full. */
const FULL_SHARE = 0.9;

const usualLimit = (name: string): Limit => {
  if (name === "learn") return "update";
  if (name === "close") return "validation";
  return name === "window" || name === "filter" ? "main thread" : "slots";
};

const limitAtMaximum = (name: string): Limit => {
  if (name === "step") return "threads";
  return name === "generate" ? "memory" : "admission";
};

/** Stages whose concurrency is 1 by nature. */
const singleSlotStages: ReadonlySet<string> = new Set(["window", "filter", "learn", "close"]);

/** The part of slot-time that an item of the stage is not kept by what is downstream. */
const unblockedShare = ({ blocked, busy }: StageLoad.StageLoad): number =>
  busy + blocked > 0 ? busy / (busy + blocked) : 1;

/** The share by which throughput can rise before the fullest of the other stages bounds it. */
const headroom = (loads: Loads, except: string): number => {
  let least = Number.POSITIVE_INFINITY;
  for (const { blocked, busy, kind, name } of loads.values()) {
    // Busy rollouts wait for services, and a stage that waits for the next one is not full.
    if (name === except || name === "rollout" || name === "window") continue;
    const full = name === "learn" ? busy + blocked : busy;
    if (kind === "service" || singleSlotStages.has(name) || name === "score")
      least = Math.min(least, 1 / Math.max(full, 0.01) - 1);
  }
  return least;
};

/** Two bounds on a gain: the smaller one, and less than either where they are near. */
const combinedGain = (a: number, b: number): number => (a + b > 0 && Number.isFinite(b) ? (a * b) / (a + b) : a);

class PullEstimator {
  readonly #setting: RunLimits;
  readonly #loads: Loads;
  /** Share of the time in which groups are rolled out; in async always. */
  readonly #phase: number;

  constructor(setting: RunLimits, loads: Loads, phase: number) {
    this.#setting = setting;
    this.#loads = loads;
    this.#phase = phase;
  }

  pulls(): readonly Pull[] {
    const services = [...this.#loads.values()]
      .filter(({ kind }) => kind === "service")
      .map((load) => this.#pullOf(load));
    const serviceHold = services.reduce((most, { pull }) => Math.max(most, pull), 0);
    const flows = [...this.#loads.values()]
      .filter(({ kind, name }) => kind === "flow" && name !== "window")
      .map((load) => (load.name === "rollout" ? this.#rollout(load, serviceHold) : this.#pullOf(load)));
    const learning = flows.reduce((most, { pull, stage }) => (stage === "rollout" ? most : Math.max(most, pull)), 0);
    return [...services, ...flows, ...this.#latency(Math.max(serviceHold, learning))].sort((a, b) => b.pull - a.pull);
  }

  #pullOf(load: StageLoad.StageLoad): Pull {
    const { name } = load;
    const pull = this.#share(load);
    const limit = usualLimit(name);
    if (singleSlotStages.has(name)) return { stage: name, limit, pull, gain: null };
    if (name === "generate" && this.#threadsFull()) return { stage: name, limit: "threads", pull, gain: null };
    const most = this.#setting.most?.get(name);
    if (most !== undefined && load.concurrency >= most)
      return { stage: name, limit: limitAtMaximum(name), pull, gain: null };
    const gain = pull / load.concurrency;
    // Phases follow one another: what one gains, no other takes away.
    const bounded = this.#setting.mode === "async" ? combinedGain(gain, headroom(this.#loads, name)) : gain;
    return { stage: name, limit, pull, gain: bounded };
  }

  #share(load: StageLoad.StageLoad): number {
    const { busy, kind, name, waiting } = load;
    const phases = this.#setting.mode !== "async";
    if (name === "close") return phases ? busy : (this.#loads.get("learn")?.blocked ?? busy);
    if (name === "learn" && phases) return busy;
    return waiting * (kind === "flow" ? unblockedShare(load) : this.#phase);
  }

  /** More groups in flight help where groups wait for their turn and their episodes would not wait for a service. */
  #rollout(load: StageLoad.StageLoad, serviceHold: number): Pull {
    const { concurrency, name } = load;
    const { episodes, groupSize, most } = this.#setting;
    const inFlight = [...this.#loads.values()].reduce(
      (sum, { kind, queue, running }) => sum + (kind === "service" ? queue + running : 0),
      0,
    );
    const free = unblockedShare(load) * (1 - serviceHold);
    // Members of groups in flight that wait for a place among the episodes.
    if (
      episodes !== undefined &&
      groupSize !== undefined &&
      inFlight >= FULL_SHARE * episodes * this.#phase &&
      load.running * groupSize > episodes
    ) {
      return { stage: "generate", limit: "memory", pull: free * this.#phase, gain: null };
    }
    const pull = load.waiting * free;
    if (most !== undefined && concurrency >= (most.get(name) ?? Number.POSITIVE_INFINITY)) {
      return { stage: name, limit: "admission", pull, gain: null };
    }
    return { stage: name, limit: "slots", pull, gain: combinedGain(pull / concurrency, headroom(this.#loads, name)) };
  }

  /** Pulls that no stage's load explains: groups wait for admission, or episodes only for their own turns. */
  #latency(serviceHold: number): readonly Pull[] {
    const rollout = this.#loads.get("rollout");
    if (rollout === undefined) return [];
    const left = (1 - serviceHold) * this.#phase;
    if (this.#setting.mode === "async") {
      // Groups admitted earlier would find a learner that has nothing to do: of one that is always busy they make no more.
      const idle = this.#loads.get("learn")?.starved ?? 1;
      return [{ stage: "rollout", limit: "admission", pull: Math.min(rollout.starved * left, idle), gain: null }];
    }
    const services = [...this.#loads.values()].filter(({ kind }) => kind === "service");
    const total = services.reduce((sum, { running }) => sum + running, 0);
    return services.map(({ name, running }) => ({
      stage: name,
      limit: "latency",
      pull: total > 0 ? (left * running) / total : 0,
      gain: null,
    }));
  }

  #threadsFull(): boolean {
    const { generators } = this.#setting;
    if (generators === undefined) return false;
    return (StageLoad.between(generators.before, generators.after)?.busy ?? 0) >= FULL_SHARE;
  }
}

const byName = (samples: readonly StageSample[] | null): ReadonlyMap<string, StageSample> =>
  new Map((samples ?? []).map((sample) => [sample.name, sample]));

/** Attribution of the interval between two readings of all gauges; from the start where `before` is null. */
export const attribute = (
  before: readonly StageSample[] | null,
  after: readonly StageSample[],
  setting: RunLimits,
): Attribution => {
  const earlier = byName(before);
  const measure = (phase: number) =>
    after
      .map((sample) => StageLoad.between(earlier.get(sample.name) ?? null, sample, phase))
      .filter((load): load is StageLoad.StageLoad => load !== null);
  const first = new Map(measure(1).map((load) => [load.name, load]));
  const learn = first.get("learn");
  const consuming = learn === undefined ? 0 : learn.busy + learn.blocked;
  const phase = setting.mode === "async" ? 1 : Math.max(0, 1 - consuming);
  const loads: readonly StageLoad.StageLoad[] = measure(phase);
  const passed = loads.reduce((sum, { items, kind }) => sum + (kind === "service" ? items : 0), 0);
  const pulls = new PullEstimator(setting, new Map(loads.map((load) => [load.name, load])), phase).pulls();
  const [strongest] = pulls;
  // In a pause of the rollouts only the stage that makes them wait is busy.
  if (strongest === undefined || strongest.pull <= 0 || (passed < MIN_ITEMS && consuming < FULL_SHARE)) {
    return { bottleneck: null, pulls: [], loads };
  }
  const busy = first.get(strongest.stage)?.busy ?? 0;
  const load = first.get(strongest.stage);
  return { bottleneck: { ...strongest, busy, because: explainPull(strongest, load) }, pulls, loads };
};
