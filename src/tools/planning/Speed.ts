/**
 * The speed to expect: tokens a second of generation and of updates, out of the operations and bytes that each takes and what the machine does
 * of both in a second. Rates are of full batches; a run that waits for its environments is slower.
 */
import { isGeneratorRemote } from "../../config/checks/generator.ts";
import type { Models } from "./Models.ts";
import { generatorSessions, readBytes, stepSessions } from "./Owners.ts";
import type { PlannedRun } from "./PlannedRun.ts";
import { generatorShape, passShape } from "./Shapes.ts";

/** The machine's speed with one thread, per second. */
export interface Unit {
  /** Floating-point operations of a large matrix product. */
  readonly flops: number;
  /** Bytes of a matrix that a product of few rows reads through. */
  readonly bytes: number;
  /** Cores that the threads may use together. */
  readonly cores: number;
}

export interface Speed {
  /** Sampled tokens a second of all generators, every slot in use; null where servers generate. */
  readonly decode: number | null;
  /** The resource that limits a decode step. */
  readonly bound: "memory" | "arithmetic";
  /** Tokens of the window's sequences that are trained on in a second, all passes of an update counted. */
  readonly update: number;
}

/** Share of the unit that passes over a batch reach, and a decode step (docs/plan.md). */
const SHARE = { update: 0.65, decode: 0.5 };

/** Predicts the speed of a training run. */
export const speedOf = (run: PlannedRun, models: Models, unit: Unit): Speed => {
  const { config, decoder } = run;
  const { generator_intra_op, generator_threads, learner_intra_op, learner_lanes } = config.model;
  const { capacity, rows } = generatorShape(run);
  const step = generatorSessions(run, models).get("step");
  const { headDim, kvHeads, layers } = decoder;
  // On average a row's cache is half full, and rows are padded to the longest.
  const caches = rows * capacity * layers * kvHeads * headDim * 2 * Float32Array.BYTES_PER_ELEMENT;
  const moved = (readBytes(run) + caches) / unit.bytes;
  const computed = (step?.flops ?? 0) / (unit.flops * SHARE.decode);
  const threads = Math.min(generator_threads * generator_intra_op, unit.cores);
  const { tokens } = passShape(run);
  const epochs = config.actor.ppo_epochs;
  const passes = [...stepSessions(run, models)].reduce(
    (sum, [name, { flops }]) => sum + flops * (name === "actor" || name === "critic" ? epochs : 1),
    0,
  );
  const cores = Math.min(learner_lanes * learner_intra_op, unit.cores);
  return {
    decode: isGeneratorRemote(config.model) ? null : (threads * rows) / Math.max(moved, computed),
    bound: moved > computed ? "memory" : "arithmetic",
    update: (tokens * unit.flops * cores * SHARE.update) / passes,
  };
};
