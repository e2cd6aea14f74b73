/**
 * The checkpoints of a learner's thread: what restores and saves a trainer, with failures as the thread's calls tell them. The thread loads
 * this module once it has started, because a new run saves much later than it starts.
 */
import * as Effect from "effect/Effect";
import { CheckpointError } from "../model/checkpoint/CheckpointError.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { CallError } from "../model/runtime/serve.ts";
import type { EarlierVersion } from "../model/weights/Weights.ts";
import type { Trainer } from "./Trainer.ts";
import { type ModelFiles, restoreTrainer, saveTrainer } from "./TrainerCheckpoint.ts";
import type { RestoredTrainer } from "./TrainerState.ts";

/** Reads a trainer from a folder. What is damaged there is refused as `bad_checkpoint`. */
export const restore = (folder: string, config: DecoderConfig, criticTrunk: DecoderConfig): Promise<RestoredTrainer> =>
  Effect.runPromise(restoreTrainer(folder, config, criticTrunk)).catch((error) => {
    throw error instanceof CheckpointError ? new CallError("bad_checkpoint", error.message) : error;
  });

/** Saves the trainer, with the `earlier` versions of a fixed lag. A number that is not finite is refused as `not_finite`. */
export const save = async (
  folder: string,
  model: ModelFiles,
  trainer: Trainer,
  earlier?: readonly EarlierVersion[],
): Promise<void> => {
  const { networks, state } = trainer;
  await networks.synchronise();
  const { actor, critic, reference } = networks;
  await Effect.runPromise(saveTrainer(folder, model, state, actor, critic, { earlier, reference })).catch((error) => {
    const refused = error instanceof CheckpointError && error.reason === "not_finite";
    throw refused ? new CallError("not_finite", error.message) : error;
  });
};
