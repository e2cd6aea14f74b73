/** Runs in virtual time whose learner has lanes, and the lanes tuner at work on them. */
import { lead as leadOf } from "../../../src/domain/PipelineMode.ts";
import { stream } from "../../../src/domain/Random.ts";
import type { RunSample, RunShape } from "../../../src/tools/simulation/RunShape.ts";
import { run } from "../../../src/tools/simulation/run.ts";
import type { Decision } from "../../../src/tools/tuning/Autotune.ts";
import * as LanesTuner from "../../../src/tools/tuning/LanesTuner.ts";

export const MINUTE = 60_000;

export interface LanesMachine {
  readonly cores: number;
  readonly threads: number;
  readonly lanes: number;
  /** Mean tokens of a reply, and milliseconds of a micro-batch; a window has 16 of both. */
  readonly tokens: number;
  readonly micro: number;
  readonly mode?: RunShape["mode"];
}

const lead = 2;

/** Times scatter by a half to either side. */
const around = (mean: number, seed: number, ...counters: readonly number[]): number =>
  mean * (0.5 + stream({ seed, purpose: "play", counters: [...counters] }).uniform());

export const shapeOf = (machine: LanesMachine, seed: number, until: number): RunShape => ({
  mode: machine.mode ?? "async",
  groups: 4,
  groupSize: 4,
  windows: 100_000,
  maxStaleness: lead,
  order: "admission",
  rolloutConcurrency: 12,
  episodes: 48,
  generateSlots: 48,
  stepSlots: 48,
  turns: 1,
  generate: () => 0,
  generators: {
    threads: machine.threads,
    slots: 16,
    tokens: (group, member) => Math.round(around(machine.tokens, seed, 0, group, member)),
    decode: (rows) => 10 + 2 * rows,
  },
  step: () => 1,
  inbox: 8,
  update: () => 0,
  learner: {
    lanes: machine.lanes,
    micros: () => 16,
    micro: (window, index) => around(machine.micro, seed, 1, window, index),
  },
  cores: machine.cores,
  until,
});

export interface Change extends Decision {
  readonly at: number;
}

interface Tuned {
  readonly consumedAt: readonly number[];
  readonly changes: readonly Change[];
}

/** The tuner's options for a run. */
export const optionsOf = (shape: RunShape): LanesTuner.LanesOptions => ({
  most: shape.learner?.lanes ?? 1,
  lead: leadOf(shape),
  setting: { mode: shape.mode },
});

/** A run under the tuner, from so many lanes. `freeOf` tells when nothing else changes settings. */
export const tuned = (
  shape: RunShape,
  from = shape.learner?.lanes ?? 1,
  freeOf: (sample: RunSample) => boolean = () => true,
): Tuned => {
  let state = LanesTuner.start(optionsOf(shape));
  let lanes = from;
  const changes: Change[] = [];
  const { consumedAt } = run({
    ...shape,
    changes: [...(shape.changes ?? []), { at: 0, setting: "lanes", value: from }],
    observer: {
      everyMs: 1000,
      onSample: (sample, set) => {
        const outcome = LanesTuner.observe(state, { ...sample, lanes, free: freeOf(sample) });
        state = outcome.state;
        if (outcome.decision === null) return;
        changes.push({ ...outcome.decision, at: sample.elapsedMs });
        lanes = outcome.decision.control.concurrency;
        set("lanes", lanes);
      },
    },
  });
  return { consumedAt, changes };
};

/** Windows a second from one time to another. */
export const pace = (consumedAt: readonly number[], from: number, to: number): number =>
  (1000 * consumedAt.filter((at) => at >= from && at < to).length) / (to - from);

/** Windows a second under each fixed number of lanes, one first. */
export const fixedPaces = (shape: RunShape, from: number, to: number): readonly number[] =>
  Array.from({ length: shape.learner?.lanes ?? 1 }, (_, i) => {
    const changes = [{ at: 0, setting: "lanes" as const, value: i + 1 }];
    return pace(run({ ...shape, changes }).consumedAt, from, to);
  });
