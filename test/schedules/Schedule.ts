/** A schedule: all that one seed decides about a run, its faults, and the order in which its fibers run. Invariant: the seed alone decides. */
import type { RunConfig } from "../../src/config/RunConfig.ts";
import type { Tree } from "../../src/config/Tree.ts";
import type { Control } from "../../src/domain/Control.ts";
import { type Random, stream } from "../../src/domain/Random.ts";
import { reachConfig } from "../build/config.ts";
import type { Fates } from "../engine/fakes.ts";

/** The ways in which rollouts and updates take turns. */
export type Mode = "sync" | "lockstep" | "async_admission" | "async_completion" | "fixed_lag";
const modes: readonly Mode[] = ["sync", "lockstep", "async_admission", "async_completion", "fixed_lag"];

/** A control that is applied once so many events were seen. */
export interface TimedControl {
  readonly at: number;
  readonly control: Control;
  /** Milliseconds after which a pause ends. */
  readonly pauseMs: number;
}

/**
 * The end that a schedule gives to its run: none of its own, a stop by hand or by a control, an interruption, or an update that fails. All
 * but the first are followed by a resume.
 */
export interface ForcedEnd {
  readonly kind: "none" | "stop" | "stop_control" | "interrupt" | "failed_update";
  /** Events, or updates, before it. */
  readonly at: number;
}

export interface Schedule {
  readonly seed: number;
  readonly mode: Mode;
  readonly config: RunConfig;
  readonly fates: Fates;
  readonly updateMs: number;
  readonly adoptMs: number;
  readonly notFinite: (update: number) => boolean;
  readonly controls: readonly TimedControl[];
  readonly end: ForcedEnd;
  readonly yieldEvery: number;
}

/** The draws of a schedule; each purpose has its own, so that the order of fibers can change alone. */
export const draws = (seed: number, purpose: number, ...counters: number[]): Random =>
  stream({ seed, purpose: "noise", counters: [purpose, ...counters] });

const ofShape = 0;
const ofFates = 1;
/** The purpose of the draws that order fibers; added numbers give other orders of the same schedule. */
export const ofOrder = 2;

/** Milliseconds with a long tail, and many equal ones, so that timers fall together. */
const latency = (random: Random, scale: number): number => {
  if (random.int(3) === 0) return random.int(3);
  return random.int(12) === 0 ? random.int(scale * 60) : random.int(scale);
};

const fatesOf = (seed: number, random: Random): Fates => {
  const scale = random.pick([2, 6, 20]);
  const turns = 1 + random.int(3);
  const crashes = random.pick([0, 0, 0.1, 0.4]);
  return (group, member) => {
    const draw = draws(seed, ofFates, group, member);
    const isCrash = draw.uniform() < crashes;
    return {
      turns: 1 + draw.int(turns),
      end: isCrash ? "crash" : draw.pick(["success", "miss"]),
      replyMs: latency(draw, scale),
      stepMs: latency(draw, scale),
    };
  };
};

const controlsOf = (random: Random, events: number): readonly TimedControl[] => {
  const control = (): Control => {
    const kind = random.int(4);
    if (kind === 0) return { _tag: "PauseAdmission" };
    if (kind === 1) return { _tag: random.pick(["Validate", "Checkpoint"] as const) };
    const stage = random.pick(["rollout", "rollout", "generate", "score"]);
    return { _tag: "SetConcurrency", stage, concurrency: 1 + random.int(6) };
  };
  return Array.from({ length: random.pick([0, 0, 1, 3]) }, () => ({
    at: random.int(events),
    control: control(),
    pauseMs: random.int(120),
  }));
};

const pipelineOf = (mode: Mode, random: Random): Tree => {
  const asynchronous = { max_staleness: random.int(4) };
  switch (mode) {
    case "sync":
    case "lockstep":
      return { mode };
    case "async_admission":
      return { mode: "async", ...asynchronous };
    case "async_completion":
      return { mode: "async", window_order: "completion", ...asynchronous };
    case "fixed_lag":
      return { mode: "async", schedule: "fixed_lag", ...asynchronous };
  }
};

/** The schedule of a seed. */
export const scheduleOf = (seed: number): Schedule => {
  const random = draws(seed, ofShape);
  const mode = random.pick(modes);
  const groups = 1 + random.int(4);
  const windows = 2 + random.int(4);
  const group_size = 1 + random.int(3);
  const isRefilled = random.int(2) === 0;
  const refill = { target: 1 + random.int(groups), rounds: 1 + random.int(3), batch: random.int(3) };
  const events = windows * groups * 6;
  const forced = random.pick(["none", "none", "stop", "stop_control", "interrupt", "failed_update"] as const);
  const config = reachConfig({
    pipeline: {
      ...pipelineOf(mode, random),
      inbox: 1 + random.int(3),
      rollout_concurrency: random.pick([0, 0, 1, 2, 6]),
      score_concurrency: 1 + random.int(2),
      stop_deadline_ms: random.pick([0, 5, 60, 100_000]),
    },
    trainer: {
      total_training_steps: windows,
      test_freq: random.int(3),
      val_before_train: random.int(3) === 0,
      val_at_end: random.int(4) === 0,
      save_freq: random.int(3),
      max_skipped_updates: 0,
    },
    es_manager: { train: { env_groups: groups, group_size, n_groups: [groups], sampler: { by: "difficulty" } } },
    custom_envs: { Reach: { env_type: "corridor", levels: { near: {}, middle: {}, far: {} } } },
    generation: { slots: 1 + random.int(8) },
    filter: isRefilled ? { include_zero: false, refill } : { include_zero: random.int(2) === 0 },
  });
  const skips = random.pick([0, 0, 0, 0.3]);
  return {
    seed,
    mode,
    config,
    fates: fatesOf(seed, random),
    updateMs: random.pick([0, 1, 10, 60]),
    adoptMs: random.pick([0, 0, 1, 25]),
    // A resumed run counts its updates anew, so a run that resumes skips none.
    notFinite: (update) => forced === "none" && draws(seed, ofFates, update, 0, 1).uniform() < skips,
    controls: controlsOf(random, events),
    end: { kind: forced, at: forced === "failed_update" ? 1 + random.int(windows) : random.int(events) },
    yieldEvery: random.pick([0, 0, 3, 15, 80]),
  };
};
